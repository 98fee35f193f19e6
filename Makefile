# Commands of the project; `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SERVE ?= .serve
PORT ?= 8778
# `make test T=placement/tests/unit` runs a part; J is the number of processes. Many tests wait, for
# a timeout or a server: four more than the processors. At most 8: each needs half a GB, and a
# container may have less time than processors. They start hundreds of Python processes, which would
# compile the modules again and again if they could not keep them.
T ?= placement placement_insight
J ?= $(shell n=$$(nproc); echo $$((n < 5 ? n + 4 : 8)))
DATABASE ?= mariadb
STRESS ?= 60
DIST ?= dist
AGREEMENT ?= 600
PACKAGES ?= wheel
MUTATED ?= placement/core/claims.py
MUTANTS ?= *7
MINUTES ?= 30
SCRIPTS := .ci/run devstack/plugin.sh devstack/settings packaging/build-deb packaging/build-image \
	packaging/debian/openplacement.postinst packaging/debian/openplacement.postrm \
	placement_db_tools/*.sh placement_insight/tests/functional/packaging/*.sh

.DEFAULT_GOAL := help
.PHONY: screenshots dashboard demo help serve test test-long test-service test-insight test-lowest lint format check stress test-galera test-nova test-packages mutants container-requirements dist sbom bench bench-random bench-growth bench-statements docs openapi stats clean

help:  ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 18

serve: $(VENV)/.serve  ## Serve Placement on 127.0.0.1 from SQLite, ready for use (PORT=8778)
	@$(BIN)/placement-api --port $(PORT) --development $(SERVE)

demo: $(VENV)/.serve  ## Serve a realistic cloud of 300 hosts to try commands and dashboard (PORT=8778)
	@$(BIN)/placement-api --port $(PORT) --development $(SERVE)/demo --demo

# The tests of a part are all of its tests; otherwise, `make test-long` runs those that are long, with
# a real Keystone among them. One process writes samples (DOCS_SAMPLES=write).
SELECTED = $(if $(filter file,$(origin T)),-m "not long")
PYTEST = -m pytest --durations 25 --durations-min 5 -n $(if $(DOCS_SAMPLES),0,$(J)) --dist loadgroup $(SELECTED)
SERVICE := .service
OF_SERVICE = $(filter placement placement/%,$(T))
OF_INSIGHT = $(filter-out placement placement/%,$(T))
PURE = placement/tests/unit% placement/tests/property% placement_insight/tests/unit% placement_insight/tests/property%
KEYSTONE = $(if $(findstring not long,$(SELECTED)),,$(if $(filter-out $(PURE),$(T)),.keystone/.installed))
test: $(if $(OF_SERVICE),test-service) $(if $(OF_INSIGHT),test-insight)  ## Run all tests but long ones, each storey by itself (T=path for a part, with its long tests)

test-long:  ## Run the long tests: outages, races, web servers, dashboard, all databases (T=path)
	$(MAKE) test SELECTED='-m long'

test-service: $(SERVICE)/.installed $(KEYSTONE)  ## Run the tests of the service, where what operators see is not installed
	cd $(SERVICE)/checkout && env -u PYTHONDONTWRITEBYTECODE ../environment/bin/python $(PYTEST) $(or $(OF_SERVICE),placement)

test-insight: $(VENV)/.test $(KEYSTONE)  ## Run the tests of what operators see
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python $(PYTEST) $(or $(OF_INSIGHT),placement_insight)

stress: $(VENV)/.test  ## Run stress, outage, race, kill and property tests for long (STRESS=seconds of each, AGREEMENT=of old and new processes)
	STRESS_SECONDS=$(STRESS) STRESS_AGREEMENT_SECONDS=$(AGREEMENT) STRESS_ROUNDS=100 STRESS_COMPARISONS=10000 RACE_TIMES=200 \
		LIMITED_HOSTS=3000 KILLED_SYNC_STEP=1 REPAIR_KILL_EVERY=1 HOSTILE_EVERY=1 INTERLEAVINGS=all PROPERTY_EXAMPLES=1000 DRAIN_WORLDS=3000 MIX_WORLDS=3000 \
		PLAN_WORLDS=20000 \
		$(BIN)/python -m pytest -n $(J) --dist loadgroup -o timeout=0 -rP --show-capture=stdout placement/tests/functional/stress \
		placement_insight/tests/functional/stress \
		placement_insight/tests/functional/audit/repair/interleavings \
		placement/tests/functional/db/claims/test_races.py \
		placement/tests/functional/db/interleavings \
		placement/tests/functional/db/resources/test_races_of_providers.py \
		placement/tests/functional/db/schema/test_killed_sync.py \
		placement_insight/tests/functional/audit/repair/test_interrupted.py \
		placement/tests/functional/http/test_hostile_input.py \
		placement/tests/functional/handlers/test_limited_candidates.py \
		placement/tests/property placement_insight/tests/property

test-galera: $(VENV)/.test  ## Run stress and race tests on a Galera cluster of three nodes
	GALERA=1 $(BIN)/python -m pytest -s placement_insight/tests/functional/stress/test_galera.py

test-nova: $(VENV)/.test .nova/.installed  ## Find explanations by the request ids of nova's own client
	NOVA_PYTHON=$(CURDIR)/.nova/bin/python $(BIN)/python -m pytest placement_insight/tests/functional/nova

.nova/.installed:
	$(PYTHON) -m venv .nova
	.nova/bin/pip install --quiet nova
	touch $@

# The lowest versions that pyproject.toml allows: the unit tests, and a start in each mode.
test-lowest: .lowest/.installed  ## Run unit tests and starts with the lowest versions of libraries
	.lowest/bin/python -m pytest -q -n 2 placement/tests/unit placement/tests/functional/cmd/test_api.py \
		placement/tests/functional/keystone/test_memcached.py \
		-k "unit or needs_no_configuration or not_unpickled"

.lowest/.installed: pyproject.toml | environment
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) .lowest
	$(BIN)/uv pip compile --quiet --python .lowest/bin/python --resolution lowest-direct \
		--extra metrics --extra postgresql pyproject.toml --output-file .lowest/constraints.txt
	$(BIN)/uv pip install --quiet --python .lowest/bin/python --constraint .lowest/constraints.txt \
		--editable '.[metrics,postgresql,test]'
	@touch $@

# mutmut reads its configuration from a file; the tests run in a copy of the checkout.
SETTING = printf '%s=\n' $(1) && printf '    %s\n' $(2) &&
mutants: T = placement/tests/unit/core placement/tests/property
mutants: .mutants/.installed  ## Change the code at random, and list the changes that no test notices (MUTATED, MUTANTS, T, MINUTES)
	rm -rf .mutants/checkout && mkdir .mutants/checkout
	git ls-files -z | tar --create --null --files-from=- | tar --extract --directory .mutants/checkout
	( echo '[mutmut]' && echo 'use_git_change_detection=false' && \
		$(call SETTING,source_paths,placement placement_insight) \
		$(call SETTING,only_mutate,$(MUTATED:%='%')) \
		$(call SETTING,also_copy,Makefile bench bin conftest.py doc etc openapi placement_compare placement_db_tools) \
		$(call SETTING,pytest_add_cli_args,-p no:randomly -m 'not long and not server') \
		$(call SETTING,pytest_add_cli_args_test_selection,$(T)) \
		true ) > .mutants/checkout/setup.cfg
	cd .mutants/checkout \
		&& timeout --preserve-status --signal=INT $(MINUTES)m ../environment/bin/mutmut run '$(MUTANTS)' \
		|| { echo 'No mutant was reached. If the tests alone took $(MINUTES) minutes, choose fewer (T), or more MINUTES.'; exit 1; }
	cd .mutants/checkout && ../environment/bin/mutmut results | sed '/: not checked$$/d'

.mutants/.installed: pyproject.toml
	$(PYTHON) -m venv --clear .mutants/environment
	.mutants/environment/bin/python -m pip install --quiet --editable '.[test,mutants]'
	@touch $@

test-packages: $(VENV)/.test $(VENV)/.package  ## Build and try the wheel (PACKAGES=debian or container: also that, as root)
	PACKAGES=$(PACKAGES) $(BIN)/python -m pytest placement_insight/tests/functional/packaging/test_packages.py \
		placement_insight/tests/functional/packaging/test_container.py

dist: $(VENV)/.package  ## Build source distribution and wheel into dist: the same wheel from the same commit
	umask 022 && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --outdir $(DIST)

sbom: dist  ## Write SBOMs (CycloneDX) of the wheel, with its libraries of today, and of the container into dist
	$(PYTHON) -m venv --clear $(DIST)/environment
	$(DIST)/environment/bin/pip install --quiet $(DIST)/*.whl
	$(DIST)/environment/bin/pip uninstall --quiet --yes pip setuptools
	$(BIN)/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
		--output-file $(DIST)/wheel.cdx.json $(DIST)/environment
	$(BIN)/cyclonedx-py requirements --output-reproducible --pyproject pyproject.toml \
		--output-file $(DIST)/container.cdx.json packaging/container-requirements.txt
	rm -r $(DIST)/environment

container-requirements: $(VENV)/.package  ## Pin the newest releases of the container's Python packages
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-header \
		--python-version 3.11 --extra container --extra metrics --extra postgresql pyproject.toml \
		--output-file packaging/container-requirements.txt

test-docs: T = placement_insight/tests/functional/docs/followed placement_insight/tests/functional/docs/test_all_commands.py
test-docs: $(VENV)/.test $(VENV)/.package .keystone/.installed  ## Follow the pages: commands, and installation and migration in a container, as root
	PACKAGES=wheel $(BIN)/python -m pytest --durations 5 $(T)

lint: $(VENV)/.lint  ## Check format, style and types
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/shellcheck --external-sources $(SCRIPTS)
	$(BIN)/hadolint packaging/Containerfile

format: $(VENV)/.lint  ## Format the code and fix what ruff can fix
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

check: lint test test-long docs  ## What CI runs

bench: $(VENV)/.bench  ## Compare with openstack-placement (QUICK=1, DATABASE=postgresql, sqlite, mariadb-mysqlclient)
	$(BIN)/python -m bench --database $(DATABASE) $(if $(QUICK),--quick) $(if $(RECORD),--record)

bench-statements: $(VENV)/.test  ## Count SQL statements and calls; fail if they increased
	$(BIN)/python -m bench.statements

bench-random: $(VENV)/.bench  ## Compare with openstack-placement on random requests (SECONDS=600, SEED=number)
	$(BIN)/python -m bench.random_comparison --database $(DATABASE) \
		$(if $(SEED),--seed $(SEED)) $(if $(SECONDS),--seconds $(SECONDS))

bench-growth: $(VENV)/.test  ## Measure load, memory and search up to 1,000,000 providers
	$(BIN)/python -m bench.growth --record

dashboard:  ## Check the dashboard and build it into the package (needs Node)
	cd dashboard && npm ci --include=dev --no-audit --no-fund && npm run -s check && npm test \
		&& npm run -s build

screenshots: $(VENV)/.test  ## Take the pictures of the dashboard for the documentation
	$(BIN)/python -m placement_insight.tests.functional.page.screenshots doc/source/_static

docs: $(VENV)/.docs  ## Build the documentation into doc/build/html; warnings are errors
	@$(BIN)/python -m openapi > doc/source/api/openapi.json
	$(BIN)/sphinx-build -q -W --keep-going -b html doc/source doc/build/html

openapi: $(VENV)/.serve  ## Print the OpenAPI description (V=1.36: of one microversion)
	@$(BIN)/python -m openapi $(V)

stats: $(VENV)/.serve  ## Lines per file and per function: median, 90th percentile, largest
	@$(BIN)/python -m placement.tests.stats

clean:  ## Remove generated files
	git clean -fdXq

# An environment without a working pip is one whose creation was interrupted: it is created again.
.PHONY: environment
environment:
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)

# Installs into the environment of an interpreter, with pip or the uv of the variable UV.
INSTALL = $(if $(UV),$(UV) pip install --compile-bytecode --python $(1),$(1) -m pip install) --quiet

# A copy of the checkout, with an environment of its own: the tests of the service, and all programs
# that they start, find no placement_insight.
.PHONY: service-checkout
service-checkout:
	rm -rf $(SERVICE)/checkout && mkdir -p $(SERVICE)/checkout
	git ls-files --cached --others --exclude-standard ':!placement_insight' \
		| while read -r file; do [ ! -e "$$file" ] || echo "$$file"; done \
		| tar --create --files-from=- | tar --extract --directory $(SERVICE)/checkout
	sed --in-place '/placement_insight/d' $(SERVICE)/checkout/pyproject.toml  # no entry points of it
	ln -s $(CURDIR)/.keystone $(SERVICE)/checkout/.keystone

$(SERVICE)/.installed: pyproject.toml | service-checkout
	$(PYTHON) -m venv --clear $(SERVICE)/environment
	$(call INSTALL,$(SERVICE)/environment/bin/python) --editable '$(SERVICE)/checkout[test]'
	@touch $@

# One environment; each marker file means that the extra of its name is installed.
# It takes a minute, and says what it does: make serve is the first command of a newcomer.
$(VENV)/.serve: pyproject.toml | environment
	$(BIN)/python -m pip install --editable .
	@touch $@

$(VENV)/.%: pyproject.toml | environment
	$(call INSTALL,$(BIN)/python) --editable '.[$*]'
	@touch $@

# Keystone requires other releases of libraries: it has an environment of its own.
.keystone/.installed: placement/tests/functional/keystone/requirements.txt
	$(PYTHON) -m venv --clear .keystone
	$(call INSTALL,.keystone/bin/python) --requirement $<
	@touch $@
