# Short names for developers; nothing here is needed to run or test Loci.
.PHONY: up test lint format doctor docs

up:
	python3 manage.py up

test:
	python3 manage.py test

lint:
	python3 manage.py lint

format:
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

doctor:
	python3 manage.py doctor

docs:
	python3 manage.py settings_reference
	python3 manage.py errors_reference
	python3 manage.py metrics_reference
