"""The fixed parts of the settings, which no environment variable changes."""

from __future__ import annotations

from csp.constants import NONE, SELF

from config.settings import chosen as _chosen

INSTALLED_APPS = [
    "memory.apps.MemoryConfig",
    "telemetry.apps.TelemetryConfig",
    # Without its search for `admin` modules: what packages would hang into its own site, nobody is to reach.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_htmx",
    "django_q",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    "config.request_ids.request_ids",
    "config.probes.probes",
    "config.middleware.limited_statements",
    "telemetry.metrics.middleware.counted_requests",
    "telemetry.metrics.traced_requests.traced_requests",
    "django.middleware.security.SecurityMiddleware",
    "config.static_files.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "config.languages.languages",
    "config.middleware.sound_requests",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "memory.live.redis_layer.RedisLayer" if _chosen.REDIS else "memory.live.notify_layer.NotifyLayer"
    }
}
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [_chosen.BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "memory.palace.sections.navigation",
            ],
            "libraries": {"code_spans": "memory.palace.code_spans"},
        },
    }
]

# Accounts
AUTH_USER_MODEL = "memory.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
PASSWORD_HASHERS = ["memory.services.password_hashing.BoundedHasher"]
LOGIN_URL = "palace:login"
LOGIN_REDIRECT_URL = "palace:recall"
LOGOUT_REDIRECT_URL = "palace:login"
AXES_FAILURE_LIMIT = _chosen.RATE_LOGIN_FAILURES
AXES_COOLOFF_TIME = 0.25
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
# By networks, or whoever has a whole one of IPv6 could go on from the next address.
AXES_CLIENT_IP_CALLABLE = "memory.networks.client_network"
# In the cache and not in tables: attempts carry names and addresses, which need not be kept.
AXES_HANDLER = "axes.handlers.cache.AxesCacheHandler"
AXES_CACHE = "logins"
AXES_VERBOSE = False
SILENCED_SYSTEM_CHECKS = [
    # It would count in a cache that all web processes share. Without Redis there is one web process; with it, they do.
    "axes.W001",
    # Other hosts of the operator's domain are not ours to bind to HTTPS, nor is the domain for browsers' own lists.
    "security.W005",
    "security.W021",
    # The proxy that ends HTTPS redirects. Here it would turn away agents on this machine, and the check of health.
    "security.W008",
]
AXES_LOCKOUT_TEMPLATE = "palace/locked_out.html"

# Security
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "loci_session"
CSRF_COOKIE_NAME = "loci_csrf"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _chosen.LOCI_HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if _chosen.LOCI_HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _chosen.LOCI_HTTPS else None
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "connect-src": [SELF],
        "object-src": [NONE],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
    }
}
MOST_BODY_BYTES = 33 * 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = 32 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000
FILE_UPLOAD_HANDLERS = ["config.uploads.NamelessUploads"]

# Language and time
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LANGUAGE_COOKIE_NAME = "loci_language"
LOCALE_PATHS = [_chosen.BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

# Static files
STATIC_URL = "/static/"
STATIC_ROOT = _chosen.CACHE_DIRECTORY / "static"
STATICFILES_DIRS = [_chosen.BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

# Caches stay in the process. Django's cache tables hold pickles, and whoever may write a table must not run code.
# Counts of failed logins and wrong keys are shared where there is Redis: a limit counts for all processes together.
_COUNTS = "memory.redis.counts.RedisCounts" if _chosen.REDIS else "django.core.cache.backends.locmem.LocMemCache"
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "OPTIONS": {"MAX_ENTRIES": 50_000}},
    # Of its own, so that nothing else can push out the count of a name's failed logins.
    "logins": {"BACKEND": _COUNTS, "LOCATION": "logins", "OPTIONS": {"MAX_ENTRIES": 200_000}},
    # Likewise: counts of wrong agent keys by address, and digests of right ones.
    "agent_keys": {"BACKEND": _COUNTS, "LOCATION": "agent_keys", "OPTIONS": {"MAX_ENTRIES": 100_000}},
}

# Jobs. The time-out is below the retry, or a long job would run twice; failures are acknowledged, since
# our own tables hold what is still to do and the queue only wakes us.
Q_CLUSTER = {
    "name": "loci",
    "label": "Jobs",
    # The broker: a class of ours over the queue's own for Redis, else its table.
    **({"broker_class": "memory.redis.broker.RedisBroker"} if _chosen.QUEUE_BROKER == "redis" else {"orm": "default"}),
    "workers": _chosen.LOCI_WORKERS,
    "timeout": 600,
    "retry": 900,
    "max_attempts": 3,
    "ack_failures": True,
    "catch_up": False,
    "poll": 1.0,
    "queue_limit": 16,
    "recycle": 200,
    "save_limit": 500,
    "cache": "default",
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "memory.api.authentication.AgentKeyAuthentication",
        "memory.api.authentication.PersonAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["memory.api.permissions.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["memory.api.parsers.StrictJSONParser"],
    "DEFAULT_THROTTLE_CLASSES": ["memory.api.throttles.ActionThrottle"],
    "DEFAULT_THROTTLE_RATES": {
        "write": _chosen.RATE_WRITE,
        "recall": _chosen.RATE_RECALL,
        "read": _chosen.RATE_READ,
    },
    "DEFAULT_SCHEMA_CLASS": "memory.api.schema.LociSchema",
    "DEFAULT_PAGINATION_CLASS": "memory.api.pagination.KeysetPagination",
    "EXCEPTION_HANDLER": "memory.api.problems.problem_response",
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Loci",
    "DESCRIPTION": "A self-hosted memory for AI agents.",
    "VERSION": _chosen.VERSION,
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    # Drawn whole, the page stops after its first groups: there are too many endpoints for it.
    "SWAGGER_UI_SETTINGS": {"docExpansion": "none", "deepLinking": True},
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    # Vocabularies stand where they are used; shared components would need invented names.
    "POSTPROCESSING_HOOKS": [],
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
}
