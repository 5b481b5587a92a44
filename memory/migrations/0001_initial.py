"""Create the tables."""

import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import pgvector.django.halfvec
from django.conf import settings
from django.db import migrations, models

import memory.ids
import memory.models.encrypted
import memory.models.tenancy


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Owner",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined")),
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
                "abstract": False,
            },
            managers=[
                ("objects", django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="EmbeddingSpace",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                ("provider", models.CharField(max_length=32)),
                ("model", models.CharField(max_length=200)),
                ("dimension", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[("filling", "Filling"), ("active", "Active"), ("retired", "Retired")],
                        default="filling",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("provider", "model", "dimension"), name="space_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "active")), fields=("state",), name="one_active_space"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LexStats",
            fields=[
                (
                    "owner",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="memory.owner",
                    ),
                ),
                ("n", models.BigIntegerField(default=0)),
                ("total", models.BigIntegerField(default=0)),
            ],
            options={
                "base_manager_name": "objects",
            },
        ),
        migrations.AddField(
            model_name="owner",
            name="user",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="owner",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.CreateModel(
            name="AgentGroup",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(choices=[("project", "Project"), ("squad", "Squad")], max_length=8)),
                ("name", memory.models.encrypted.EncryptedTextField()),
                ("name_hash", models.BigIntegerField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Agent",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("name", memory.models.encrypted.EncryptedTextField()),
                ("name_hash", models.BigIntegerField()),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Memory",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "visibility",
                    models.CharField(
                        choices=[("agent", "Agent"), ("squad", "Squad"), ("project", "Project"), ("owner", "Owner")],
                        default="owner",
                        max_length=8,
                    ),
                ),
                ("scope", models.UUIDField()),
                ("position", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "role",
                    models.CharField(
                        blank=True,
                        choices=[("user", "User"), ("assistant", "Assistant"), ("system", "System"), ("tool", "Tool")],
                        default="",
                        max_length=9,
                    ),
                ),
                ("speaker", memory.models.encrypted.EncryptedTextField(blank=True, null=True)),
                ("tool_name", memory.models.encrypted.EncryptedTextField(blank=True, null=True)),
                ("call_id", memory.models.encrypted.EncryptedTextField(blank=True, null=True)),
                (
                    "tier",
                    models.CharField(
                        choices=[
                            ("working", "Working"),
                            ("episodic", "Episodic"),
                            ("semantic", "Semantic"),
                            ("procedural", "Procedural"),
                            ("reflection", "Reflection"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("turn", "Turn"),
                            ("note", "Note"),
                            ("fact", "Fact"),
                            ("preference", "Preference"),
                            ("decision", "Decision"),
                            ("instruction", "Instruction"),
                            ("skill", "Skill"),
                            ("insight", "Insight"),
                            ("summary", "Summary"),
                            ("reflection", "Reflection"),
                            ("pattern", "Pattern"),
                        ],
                        max_length=11,
                    ),
                ),
                ("category", models.CharField(default="general", max_length=32)),
                (
                    "summary_level",
                    models.CharField(
                        choices=[
                            ("raw", "Raw"),
                            ("session", "Session"),
                            ("daily", "Daily"),
                            ("weekly", "Weekly"),
                            ("global", "Global"),
                        ],
                        default="raw",
                        max_length=7,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("live", "Live"),
                            ("superseded", "Superseded"),
                            ("archived", "Archived"),
                            ("erasing", "Erasing"),
                        ],
                        default="live",
                        max_length=10,
                    ),
                ),
                ("text", memory.models.encrypted.EncryptedTextField()),
                ("source", memory.models.encrypted.EncryptedTextField(blank=True, null=True)),
                ("tags", memory.models.encrypted.EncryptedJSONField(blank=True, null=True)),
                ("topics", memory.models.encrypted.EncryptedJSONField(blank=True, null=True)),
                ("metadata", memory.models.encrypted.EncryptedJSONField(blank=True, null=True)),
                ("content_hash", models.BinaryField(max_length=32)),
                ("importance", models.FloatField(default=0.5)),
                ("salience", models.FloatField(default=0.5)),
                ("confidence", models.FloatField(default=1.0)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("occurred_at", models.DateTimeField()),
                ("valid_from", models.DateTimeField(blank=True, null=True)),
                ("valid_until", models.DateTimeField(blank=True, null=True)),
                ("recorded_at", models.DateTimeField()),
                ("retracted_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                ("archive_reason", models.CharField(blank=True, default="", max_length=32)),
                ("erase_at", models.DateTimeField(blank=True, null=True)),
                ("extracted_at", models.DateTimeField(blank=True, null=True)),
                ("slept_at", models.DateTimeField(blank=True, null=True)),
                (
                    "pii_kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), default=list, size=None
                    ),
                ),
                ("pii_tier", models.PositiveSmallIntegerField(default=0)),
                (
                    "injection_kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=48), default=list, size=None
                    ),
                ),
                ("token_count", models.PositiveIntegerField(default=0)),
                ("highest_tf", models.PositiveIntegerField(default=0)),
                ("is_question", models.BooleanField(default=False)),
                ("has_time", models.BooleanField(default=False)),
                ("has_number", models.BooleanField(default=False)),
                (
                    "speaker_hashes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, size=None
                    ),
                ),
                (
                    "name_hashes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, size=None
                    ),
                ),
                ("analyzer_version", models.PositiveSmallIntegerField()),
                ("community", models.IntegerField(blank=True, null=True)),
                ("version", models.PositiveIntegerField(default=1)),
                (
                    "agent",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.agent",
                        when_deleted="SET NULL",
                    ),
                ),
                (
                    "group",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.agentgroup",
                        when_deleted="NO ACTION",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
                (
                    "reply_to",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.memory",
                        when_deleted="SET NULL",
                    ),
                ),
            ],
        ),
        # Partitioned, hence created by SQL in the next migration.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="LexPosting",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "owner_id",
                                "term",
                                "memory_id",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("term", models.BigIntegerField()),
                        ("tf", models.SmallIntegerField()),
                        ("highest_tf", models.SmallIntegerField()),
                        ("length", models.SmallIntegerField()),
                        ("scope", models.UUIDField()),
                        ("live", models.BooleanField(default=True)),
                        (
                            "owner",
                            models.ForeignKey(
                                db_index=False,
                                editable=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="memory.owner",
                            ),
                        ),
                        (
                            "memory",
                            memory.models.tenancy.TenantForeignKey(
                                db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                        "base_manager_name": "objects",
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name="MemoryAccess",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id", "memory_id", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("access_count", models.PositiveIntegerField(default=0)),
                ("last_accessed", models.DateTimeField()),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="MemoryLabel",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.PositiveSmallIntegerField(
                        choices=[(1, "Tag"), (2, "Topic"), (3, "Source"), (4, "Name"), (5, "Speaker")]
                    ),
                ),
                ("label", models.BigIntegerField()),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="MemorySource",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("sealed_for", models.UUIDField(editable=False, null=True)),
                ("scope", models.UUIDField(editable=False)),
                ("source", memory.models.encrypted.EncryptedTextField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "agent",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.agent",
                        when_deleted="SET NULL",
                    ),
                ),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
                (
                    "turn",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.memory",
                        when_deleted="CASCADE",
                    ),
                ),
            ],
        ),
        # Partitioned, hence created by SQL in the next migration.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="MemoryVector",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "owner_id",
                                "memory_id",
                                "space_id",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("scope", models.UUIDField()),
                        ("live", models.BooleanField(default=True)),
                        ("vec", pgvector.django.halfvec.HalfVectorField()),
                        (
                            "memory",
                            memory.models.tenancy.TenantForeignKey(
                                db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
                            ),
                        ),
                        (
                            "owner",
                            models.ForeignKey(
                                db_index=False,
                                editable=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="memory.owner",
                            ),
                        ),
                        (
                            "space",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="memory.embeddingspace",
                            ),
                        ),
                    ],
                    options={
                        "abstract": False,
                        "base_manager_name": "objects",
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name="MemoryVersion",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("sealed_for", models.UUIDField(editable=False, null=True)),
                ("scope", models.UUIDField(editable=False)),
                ("number", models.PositiveIntegerField()),
                ("text", memory.models.encrypted.EncryptedTextField()),
                ("changes", memory.models.encrypted.EncryptedJSONField()),
                ("actor", models.CharField(max_length=64)),
                ("reason", models.CharField(max_length=32)),
                ("created_at", models.DateTimeField()),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="OwnerActivity",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("turns_since_consolidation", models.PositiveIntegerField(default=0)),
                ("last_consolidated_at", models.DateTimeField(blank=True, null=True)),
                ("last_turn_at", models.DateTimeField(blank=True, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="OwnerSettings",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("values", models.JSONField(default=dict)),
                ("version", models.PositiveIntegerField(default=1)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PendingVector",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("next_at", models.DateTimeField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ProfileOverride",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("profile", models.CharField(max_length=32)),
                ("version", models.PositiveIntegerField()),
                ("values", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RecallRecord",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("caller", models.UUIDField()),
                ("explanation", memory.models.encrypted.EncryptedJSONField()),
                ("created_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("label", memory.models.encrypted.EncryptedTextField()),
                ("label_hash", models.BigIntegerField()),
                ("turn_count", models.PositiveIntegerField(default=0)),
                ("next_position", models.PositiveIntegerField(default=0)),
                ("started_at", models.DateTimeField()),
                ("last_turn_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "agent",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.agent",
                        when_deleted="CASCADE",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="memory",
            name="session",
            field=memory.models.tenancy.TenantForeignKey(
                blank=True, db_index=False, null=True, related_name="+", to="memory.session", when_deleted="NO ACTION"
            ),
        ),
        migrations.CreateModel(
            name="IdempotencyRecord",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("caller", models.UUIDField()),
                ("key_digest", models.BinaryField(max_length=32)),
                ("request_digest", models.BinaryField(max_length=32)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("body", memory.models.encrypted.EncryptedJSONField(null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["owner", "created_at"], name="idempotency_by_age")],
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "caller", "key_digest"), name="idempotency_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="GroupMembership",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "agent",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.agent", when_deleted="CASCADE"
                    ),
                ),
                (
                    "group",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.agentgroup", when_deleted="CASCADE"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["owner", "agent"], name="membership_by_agent")],
                "constraints": [models.UniqueConstraint(fields=("owner", "group", "agent"), name="membership_once")],
            },
        ),
        migrations.CreateModel(
            name="DueWork",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("job", models.CharField(max_length=32)),
                ("due_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.owner"),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["job", "due_at"], name="due_work_by_time")],
                "constraints": [models.UniqueConstraint(fields=("owner", "job"), name="due_work_once")],
            },
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("actor", models.CharField(max_length=64)),
                ("verb", models.CharField(max_length=32)),
                ("object_kind", models.CharField(max_length=32)),
                ("object_id", models.UUIDField(null=True)),
                ("reason", models.CharField(blank=True, default="", max_length=64)),
                ("count", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["owner", "-created_at"], name="audit_by_time"),
                    models.Index(fields=["owner", "object_id"], name="audit_by_object"),
                ],
            },
        ),
        migrations.CreateModel(
            name="AgentKey",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("label", memory.models.encrypted.EncryptedTextField()),
                ("prefix", models.CharField(max_length=12)),
                ("digest", models.BinaryField(max_length=32)),
                ("proof", models.BinaryField(max_length=32)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), size=None),
                ),
                (
                    "default_visibility",
                    models.CharField(
                        choices=[("agent", "Agent"), ("squad", "Squad"), ("project", "Project"), ("owner", "Owner")],
                        default="owner",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "agent",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.agent", when_deleted="CASCADE"
                    ),
                ),
                (
                    "default_group",
                    memory.models.tenancy.TenantForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        related_name="+",
                        to="memory.agentgroup",
                        when_deleted="CASCADE",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["owner", "agent"], name="agent_key_by_agent")],
                "constraints": [models.UniqueConstraint(fields=("digest",), name="agent_key_digest_once")],
            },
        ),
        migrations.AddConstraint(
            model_name="agentgroup",
            constraint=models.UniqueConstraint(fields=("owner", "kind", "name_hash"), name="group_name_once"),
        ),
        migrations.AddConstraint(
            model_name="agent",
            constraint=models.UniqueConstraint(fields=("owner", "name_hash"), name="agent_name_once"),
        ),
        migrations.AddIndex(
            model_name="memorylabel",
            index=models.Index(fields=["owner", "memory"], name="label_by_memory"),
        ),
        migrations.AddConstraint(
            model_name="memorylabel",
            constraint=models.UniqueConstraint(fields=("owner", "kind", "label", "memory"), name="label_once"),
        ),
        migrations.AddIndex(
            model_name="memorysource",
            index=models.Index(fields=["owner", "memory", "created_at"], name="source_by_memory"),
        ),
        migrations.AddIndex(
            model_name="memorysource",
            index=models.Index(fields=["owner", "turn"], name="source_by_turn"),
        ),
        migrations.AddConstraint(
            model_name="memoryversion",
            constraint=models.UniqueConstraint(fields=("owner", "memory", "number"), name="version_once"),
        ),
        migrations.AddConstraint(
            model_name="owneractivity",
            constraint=models.UniqueConstraint(fields=("owner",), name="owner_activity_once"),
        ),
        migrations.AddConstraint(
            model_name="ownersettings",
            constraint=models.UniqueConstraint(fields=("owner",), name="owner_settings_once"),
        ),
        migrations.AddIndex(
            model_name="pendingvector",
            index=models.Index(fields=["owner", "next_at"], name="pending_vector_due"),
        ),
        migrations.AddConstraint(
            model_name="pendingvector",
            constraint=models.UniqueConstraint(fields=("owner", "memory"), name="pending_vector_once"),
        ),
        migrations.AddConstraint(
            model_name="profileoverride",
            constraint=models.UniqueConstraint(fields=("owner", "profile", "version"), name="profile_version_once"),
        ),
        migrations.AddIndex(
            model_name="recallrecord",
            index=models.Index(fields=["owner", "created_at"], name="recall_by_age"),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["owner", "-last_turn_at"], name="session_by_last_turn"),
        ),
        migrations.AddConstraint(
            model_name="session",
            constraint=models.UniqueConstraint(
                fields=("owner", "agent", "label_hash"), name="session_label_once", nulls_distinct=False
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(fields=["owner", "-created_at", "-id"], name="memory_by_creation"),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(fields=["owner", "status", "-created_at", "-id"], name="memory_by_status"),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(fields=["owner", "occurred_at"], name="memory_by_occurrence"),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("extracted_at", None)), fields=["owner", "created_at"], name="memory_unextracted"
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("slept_at", None)), fields=["owner", "created_at"], name="memory_unslept"
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("expires_at__isnull", False)),
                fields=["owner", "expires_at"],
                name="memory_expiring",
            ),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("erase_at__isnull", False)), fields=["owner", "erase_at"], name="memory_erasing"
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.UniqueConstraint(
                condition=models.Q(("session__isnull", False)),
                fields=("owner", "session", "position"),
                name="memory_turn_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.UniqueConstraint(
                condition=models.Q(("session__isnull", True), ("status", "live")),
                fields=("owner", "scope", "content_hash"),
                name="memory_statement_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("position__isnull", True), ("session__isnull", True)),
                    models.Q(("position__isnull", False), ("session__isnull", False)),
                    _connector="OR",
                ),
                name="memory_session_with_position",
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("importance__gte", 0), ("importance__lte", 1)), name="memory_importance_is_unit"
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("salience__gte", 0), ("salience__lte", 1)), name="memory_salience_is_unit"
            ),
        ),
        migrations.AddConstraint(
            model_name="memory",
            constraint=models.CheckConstraint(
                condition=models.Q(("confidence__gte", 0), ("confidence__lte", 1)), name="memory_confidence_is_unit"
            ),
        ),
    ]
