# Everything a developer or a CI machine runs. Needs python3 >= 3.11, make, and a network; each target sets up what it uses,
# and an environment is made again when its lock file changes.

PYTHON ?= python3
# `sam build` and the function's own Makefile find uv here.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
export SAM_CLI_TELEMETRY := 0
# Behind a proxy with a certificate of its own, setup works if the system trusts that certificate.
export UV_SYSTEM_CERTS ?= true
export NODE_USE_SYSTEM_CA ?= 1
# Some environments set this. Hundreds of Python processes run here, and each would compile what it imports again.
unexport PYTHONDONTWRITEBYTECODE
# Tests of one file share what is slow to make, so they stay together. The files run in the order of conftest.py, which starts
# the slow ones first. Some only wait, so there is one more process than processors.
PYTEST_FLAGS ?= --numprocesses=$$(($$(getconf _NPROCESSORS_ONLN) + 1)) --dist=loadfile --no-loadscope-reorder --durations=20
VENV := .venv/.ready
TOOLS := .venv-tools/.ready
RIE := .lambda-rie/aws-lambda-rie
# Where there is Node, it runs another implementation of Automation, checks the report's accessibility, and drives its browser.
NODE := $(if $(shell command -v npm),build/node/.ready)
# Where there is Go, `make verify` and `make bench` build the S3 server of the lab.
LAB_SERVER := $(if $(shell command -v go),build/lab/versitygw)
LOCKS := functions/requirements requirements/build requirements/dev requirements/command requirements/tools
SAM_BUILD = .venv-tools/bin/sam build && cd integrations && ../.venv-tools/bin/sam build
.DELETE_ON_ERROR:
.PHONY: help setup demo sandbox bench path-lab test check verify faults answers mistakes lint types template site compiled acceptance \
	acceptance-clean dist image audit org-package browser lock

##@ Use
help: ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' \
		$(MAKEFILE_LIST)
setup: $(VENV) ## Make .venv, with the command at .venv/bin/express-path.
demo: ## Show the rule and a heal at work on an embedded AWS; needs no account.
	@$(MAKE) --silent --no-print-directory $(VENV) $(RIE) >/dev/null
	@.venv/bin/python -m demo
sandbox: $(VENV) ## Start a local AWS with the stack deployed, to practice heals and undos until Ctrl-C; with ORG=1, an organization.
	@.venv/bin/python -m demo.practice $(if $(ORG),--organization)
bench: $(VENV) $(LAB_SERVER) ## Print what the rule costs, what bench says about simulated sweeps, and how its client compares with others.
	.venv/bin/python -m benchmarks
path-lab: $(VENV) ## Measure a NAT's path and an endpoint's path on this machine; about ten minutes.
	.venv/bin/python -m express_path_instrument.lab.needs
	$(MAKE) --no-print-directory build/lab/versitygw
	.venv/bin/python -m express_path_instrument.lab

##@ Develop
# Branch coverage: 100 % of the core; `make verify` also measures the rest, of which it wants 90 %.
test: ## Everything that a change needs: style, types, templates, the build, and the tests.
	$(MAKE) --jobs=3 lint types template site compiled $(RIE) browser
	.venv/bin/python -m pytest $(PYTEST_FLAGS) --cov --cov-report=
	.venv/bin/coverage report --include='functions/express_path/domain/*' --fail-under=100
	$(if $(MEASURE),.venv/bin/coverage report --omit='functions/express_path/domain/*' --fail-under=90)
check: test ## The same as `make test`.
verify: export MEASURE := all
verify: test faults answers mistakes org-package $(NODE) $(LAB_SERVER) build/wheels/.ready ## make test, and what takes long: every fault and answer, deliberate mistakes, Terraform, a release, the lab, an organization.
	.venv/bin/python -m pytest -m long $(PYTEST_FLAGS)
	$(MAKE) acceptance
	CLIENTS_TURNS=1 CLIENTS_SECONDS=2 .venv/bin/python -m benchmarks
acceptance: $(VENV) $(TOOLS) ## Deploy and heal in the sandbox, or in an account with PROFILE=... REGION=...; PLAN=1 shows calls and costs, RUN=... continues.
	@$(if $(PLAN),,.venv-tools/bin/sam build >/dev/null)
	@.venv/bin/python -m acceptance
acceptance-clean: $(VENV) ## Delete what the acceptance run RUN=... has left in an account.
	@CLEAN=1 .venv/bin/python -m acceptance
faults: $(VENV) ## Let each step of each runbook go wrong, let others interfere with it, and print the result of the heals and undos.
	.venv/bin/python -m pytest -q --no-header -n auto tests/runbooks/faults.py
answers: $(VENV) ## Play the story with each answer that AWS may give where nothing says which, and print what becomes of it.
	.venv/bin/python -m pytest -q --no-header -n auto --show-capture=no tests/answers/play.py
mistakes: $(VENV) ## Make deliberate mistakes in a copy of the engine, and print which test finds each.
	.venv/bin/python -m tests.mistakes
lint: $(TOOLS) ## Check style and imports. To repair: .venv-tools/bin/ruff check --fix, .venv-tools/bin/ruff format.
	.venv-tools/bin/ruff check
	.venv-tools/bin/ruff format --check
types: $(VENV) $(TOOLS) ## Check types.
	.venv-tools/bin/mypy
compiled: $(VENV) # Compile what all processes of the tests import, so that not each of them does that at the same time.
	.venv/bin/python -m pytest --collect-only -qqq >/dev/null
template: $(VENV) $(TOOLS) ## Check the templates and build what they deploy.
	$(SAM_BUILD)
	.venv/bin/python -m org.package .aws-sam/build/EvaluateFunction integrations/.aws-sam/build/SecurityHubFunction build/org >/dev/null
	.venv/bin/cfn-lint template.yaml integrations/template.yaml org/*.yaml build/org/upload/*.json build/org/upload/*.yaml
site: $(VENV) $(TOOLS) ## Build the documentation as a site into build/site. A broken link or anchor is an error.
	.venv/bin/python -m tests.docs.generated
	.venv-tools/bin/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env -b html -c docs . build/site
	cp build/site/README.html build/site/index.html
dist: $(VENV) $(TOOLS) ## Build a release into dist/: the wheels, the function, the stacks for `sam deploy`, SBOMs, and checksums.
	rm -rf dist build/stack && mkdir -p dist build/stack
	$(SAM_BUILD)
	for name in . instrument sandbox; do .venv/bin/uv build --quiet --wheel --no-build-isolation --python=.venv --out-dir=dist $$name || exit; done
	rm -f dist/.gitignore
	.venv/bin/python -m org.archive .aws-sam/build/EvaluateFunction dist/function.zip
	tar -cf - .aws-sam/build integrations/.aws-sam/build runbooks samconfig.toml integrations/samconfig.toml | tar -xf - -C build/stack
	.venv/bin/python -m org.archive build/stack dist/stack.zip
	$(CYCLONEDX) --pyproject=pyproject.toml --output-file=dist/express-path.cdx.json requirements/command.txt
	$(CYCLONEDX) --output-file=dist/function.cdx.json functions/requirements.txt
	$(CHECKSUMS)
image: ## Add the container image of the wheel in dist/ to dist/; needs docker and a buildx builder of the driver docker-container.
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) docker buildx build --provenance=false \
		--tag=express-path:$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml) \
		--output=type=docker,dest=dist/image.tar,rewrite-timestamp=true .
	$(CHECKSUMS)
audit: $(TOOLS) ## Look up known vulnerabilities of all locked versions.
	@accepted=$$(awk -v today=$$(date -u +%F) '/^#|^$$/ {next} \
		$$2 ~ /^20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]$$/ && $$2 >= today && NF > 2 {print "--ignore-vuln=" $$1; next} \
		{print "Not accepted, because it is expired or has no date or no reason: " $$0 > "/dev/stderr"}' $(ACCEPTED)) || exit; \
	status=0; for name in $(LOCKS); do echo "$$name.txt"; .venv-tools/bin/pip-audit --strict --disable-pip --require-hashes \
		--progress-spinner=off --vulnerability-service=osv $(PIP_AUDIT_FLAGS) $$accepted --requirement=$$name.txt || status=1; \
	done; exit $$status
org-package: $(VENV) ## Package the rule for StackSets into build/org/, and print what to upload where.
	rm -rf build/org build/org-code build/org-integrations
	$(MAKE) --silent --no-print-directory -C functions build-Package ARTIFACTS_DIR=$(CURDIR)/build/org-code
	$(MAKE) --silent --no-print-directory -C integrations build-Package ARTIFACTS_DIR=$(CURDIR)/build/org-integrations
	.venv/bin/python -m org.package build/org-code build/org-integrations build/org
browser: ## Install Chromium for the tests of the report, on Debian as root, unless there is one.
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do command -v $$name >/dev/null && exit; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update --quiet=2 && DEBIAN_FRONTEND=noninteractive \
		apt-get install --quiet=2 --yes --no-install-recommends chromium && exit; fi; \
	echo 'No Chromium on PATH and none could be installed: the tests of the report in a browser will be skipped.'
lock: $(VENV) ## Lock the requirement files again, at the newest versions their .in files allow.
	for name in $(LOCKS); do .venv/bin/uv pip compile --quiet --upgrade --universal --python-version=3.11 --generate-hashes \
		--custom-compile-command='make lock' $$name.in --output-file $$name.txt || exit; done

ACCEPTED := requirements/accepted-vulnerabilities.txt
# A lock does not say which package needs which, and the tool warns of that.
CYCLONEDX = PYTHONWARNINGS=ignore::UserWarning .venv-tools/bin/cyclonedx-py requirements --output-reproducible
CHECKSUMS = cd dist && rm -f SHA256SUMS && sums=$$(sha256sum *) && echo "$$sums" >SHA256SUMS
UV_SYNC = .venv/bin/uv pip sync --quiet --require-hashes
# Old versions of pip do not use the system's certificates (pip's documentation: "HTTPS Certificates").
PIP = -m pip --quiet --disable-pip-version-check --require-virtualenv $(if $(PIP_CERT),,$(shell $(PYTHON) -c \
	'import ssl; file = ssl.get_default_verify_paths().cafile; print(f"--cert={file}" if file else "")'))
.venv/bin/uv: requirements/build.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or newer is needed, this is {sys.version}")'
	$(PYTHON) -m venv --clear .venv
	.venv/bin/python $(PIP) install --require-hashes --requirement $< && touch $@
$(VENV): .venv/bin/uv requirements/dev.txt pyproject.toml instrument/pyproject.toml sandbox/pyproject.toml
	$(UV_SYNC) --python=.venv requirements/dev.txt
	.venv/bin/uv pip install --quiet --python=.venv --no-deps --no-build-isolation --editable . --editable instrument --editable sandbox
	$(if $(shell command -v node),rm -f .venv/lib/*/site-packages/playwright/driver/node &&) touch $@
$(TOOLS): .venv/bin/uv requirements/tools.txt
	$(PYTHON) -m venv --clear --without-pip .venv-tools
	$(UV_SYNC) --python=.venv-tools requirements/tools.txt && touch $@

# The official Runtime Interface Emulator is in the SAM CLI's wheel; the wheel alone is enough, without dependencies.
$(RIE): .venv/bin/uv requirements/tools.txt
	rm -rf .lambda-rie && mkdir .lambda-rie
	sed -n '/^aws-sam-cli==/,/# via/p' requirements/tools.txt >.lambda-rie/wheel.txt
	.venv/bin/uv pip install --quiet --no-deps --require-hashes --target=.lambda-rie/wheel --requirement .lambda-rie/wheel.txt
	cp .lambda-rie/wheel/samcli/local/rapid/aws-lambda-rie-$(if $(filter arm64 aarch64,$(shell uname -m)),arm64,x86_64) $@
	rm -rf .lambda-rie/wheel && touch $@

# The S3 server of the path lab. Go checks its code against the checksum database.
build/lab/versitygw: instrument/express_path_instrument/lab/versitygw.txt
	GOBIN=$(CURDIR)/build/lab go install $$(cat $<) && touch $@

# What the action and the image install. Tests install it from here.
build/wheels/.ready: $(TOOLS) requirements/build.txt requirements/command.txt
	rm -rf build/wheels
	.venv-tools/bin/python $(PIP) download --require-hashes --dest=build/wheels --requirement=requirements/build.txt --requirement=requirements/command.txt
	touch $@
build/node/.ready: tests/node/package.json tests/node/package-lock.json
	rm -rf build/node && mkdir -p build/node && cp $^ build/node/
	npm ci --prefix build/node --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@
