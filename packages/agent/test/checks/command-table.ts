/**
 * Commands with their expected results. `passed` and `failed`: a check whose line ended with exit code 0 or 1 unless
 * another code is given; `none`: not a check. `output`: what it printed. `changed`: files that the run had changed
 * before.
 */
export interface CommandRow {
  readonly command: string
  readonly is: 'passed' | 'failed' | 'none'
  readonly code?: number | null
  readonly output?: string
  readonly changed?: readonly string[]
}

const rows = (is: CommandRow['is'], commands: string): readonly CommandRow[] =>
  commands
    .trim()
    .split('\n')
    .map((command) => ({ command: command.trim(), is }))

/** With exit code 0 and irrelevant output. */
export const plainChecks: readonly CommandRow[] = rows(
  'passed',
  `
npm test
npm t
npm run test
npm run test:unit -- --run
npm run lint
npm run typecheck
npm run build
npm run check
npm --prefix web test
npm -w packages/a run test
npm run -s lint
pnpm test
pnpm -r test
pnpm --filter api test
pnpm run build
pnpm lint
pnpm exec tsc --noEmit
yarn test
yarn lint
yarn workspace web test
yarn jest src/a.test.ts
bun test
bun run typecheck
bunx vitest run
npx vitest run
npx --yes jest --ci
npx tsc --noEmit -p tsconfig.json
npx tsc -b
npx eslint src --max-warnings 0
npx biome check .
npx oxlint
npx prettier --check .
npx playwright test
npx mocha 'test/**/*.js'
npx -p typescript tsc --noEmit
./node_modules/.bin/jest
node_modules/.bin/tsc --noEmit
node --test
node --test test/a.test.js
node --test-reporter=spec --test
deno test -A
deno check main.ts
deno lint
pytest
pytest -v
pytest -x -q tests/test_a.py::test_b
py.test tests
python -m pytest tests/
python3 -m pytest -k name
python -m unittest discover
python -m unittest -v
python -W ignore -m pytest
.venv/bin/python -m pytest
venv/bin/pytest
uv run pytest
uv run --with x pytest -q
poetry run pytest
pipenv run pytest
hatch run test
tox -e py311
nox -s tests
coverage run -m pytest
ruff check .
ruff check --fix src
python -m mypy src
mypy --strict pkg
flake8 src
pylint pkg
black --check .
isort --check-only .
pyright
python manage.py test app
python manage.py check
python -m py_compile a.py
python -m compileall -q src
go test ./...
go test -run TestX ./pkg
go build ./...
go vet ./...
gofmt -l .
golangci-lint run
staticcheck ./...
cargo test
cargo +nightly test --all
cargo build --release
cargo check
cargo clippy -- -D warnings
cargo fmt --check
cargo nextest run
make
make test
make -C lib check
make -j4 all
make lint test
just test
just check
mise run test
mise exec -- npm test
task test
mvn test
mvn -q -DskipITs verify
./mvnw -B test
gradle test
./gradlew build
./gradlew :app:testDebugUnitTest
sbt test
dotnet test
dotnet build -c Release
swift test
swift build
mix test
mix compile --warnings-as-errors
bundle exec rspec
rspec spec/a_spec.rb
bundle exec rake
rake test
bin/rails test
bundle exec rubocop
phpunit tests
vendor/bin/phpunit --filter x
vendor/bin/phpstan analyse src
composer test
php -l index.php
php artisan test
ctest --output-on-failure
cmake --build build
ninja -C build
meson test -C build
bazel test //...
zig build test
stack test
cabal build
dune test
dart analyze
flutter test
bash run_tests.sh
./run_tests.sh
sh scripts/test.sh
./scripts/check.sh
bash -n deploy.sh
python tests/test_api.py
python run_tests.py
ruby test/test_a.rb
shellcheck deploy.sh
hadolint Dockerfile
actionlint
yamllint .
terraform validate
tflint
helm lint chart
gcc -Wall -o main main.c
g++ -std=c++17 a.cpp b.cpp -o app
rustc main.rs
javac -d out src/Main.java
docker build -t x .
docker compose build
docker exec app pytest
docker compose exec -T web npm test
pre-commit run --all-files
turbo run test
npx turbo test
npx nx test api
npx nx run-many -t lint test
npx lerna run test
latexmk -pdf paper.tex
xmllint --noout a.xml
julia --project -e 'using Pkg; Pkg.test()'
Rscript -e 'devtools::test()'
forge test -vvv
npx hardhat test
npx cypress run
svelte-check
npx vue-tsc --noEmit
npx astro check
next build
npx vite build
cd web && npm test
cd /srv/app && CI=1 npm test
CI=1 FORCE_COLOR=0 npm test
env CI=1 npm test
timeout 60 npm test
timeout -k 5 60s pytest
time make test
nice -n 10 make test
sudo -E make test
xvfb-run -a npm test
cross-env NODE_ENV=test jest
npm ci && npm test
npm test && git commit -am x
git stash && npm test
npm test || exit 1
set -e; npm run lint; npm test
set -euo pipefail; npm test | tee log.txt
npm test > out.log 2>&1
npm test 2>&1
npm test &> /dev/null
(cd web && npm test)
{ npm run lint && npm test; }
bash -c 'npm test'
bash -lc "cd web && npm run build"
PY=.venv/bin/python; $PY -m pytest
mkdir -p out && cp a b && make
npm test && echo ok
npm run build && npm run lint && npm test
for f in a b; do echo $f; done; npm test
if [ -f x ]; then echo y; fi; npm test
cat > test_x.py <<'EOF2' && pytest test_x.py
import x
EOF2
`.replaceAll("<<'EOF2' && pytest test_x.py\nimport x\nEOF2", '<<< x && pytest test_x.py'),
)

export const noChecks: readonly CommandRow[] = rows(
  'none',
  `
ls
cat package.json
git status
git diff --stat
git commit -m 'fix tests'
git commit -m "run npm test"
echo npm test
pylint --exit-zero src
flake8 --exit-zero src
golangci-lint run --issues-exit-code=0
golangci-lint run --issues-exit-code 0
make -i test
make -ki test
make -j4n test
make -t test
mvn -fn test
mvn test -Dmaven.test.failure.ignore=true
tsc --noEmit --noCheck
pytest -q -h
tsc --noEmit -h
docker exec -d web npm test
docker compose run -d web npm test
tox -l
gradle test -m
grep -rn pytest .
npm install
npm ci
npm i -D jest
npm run dev
npm start
npm run format
npm run test:watch
npm run lint:fix
npm ls jest
npm --version
npm test --help
pnpm install
pnpm add -D vitest
yarn
yarn add jest
yarn install
npx prettier --write .
npx tsc --version
npx tsc --init
npx tsc --showConfig
npx tsc --watch
npx vitest list
npx playwright test --list
npx playwright install
npx jest --listTests
npx vitest --help
npx create-react-app x
node --version
node -e 'console.log(1)'
node -v
pytest --version
pytest --collect-only
pytest --help
python --version
python -c 'print(1)'
python -m pip install pytest
python -m venv .venv
python -m http.server
pip install pytest
pip install -r requirements.txt
uv pip install pytest
uv sync
poetry install
ruff format .
ruff --version
black .
isort .
go version
go mod tidy
go get ./...
go fmt ./...
go env
gofmt -w .
cargo --version
cargo fmt
cargo add serde
cargo run
make -n test
make clean
make install
make help
make --version
just --list
just
mise install
mvn --version
mvn clean
gradle --version
gradle tasks
dotnet restore
dotnet --version
bundle install
rake -T
composer install
ctest -N
cmake -B build
cmake ..
docker ps
docker compose up -d
docker run -it x bash
apt-get install -y pytest
which pytest
command -v npm
man pytest
curl localhost:3000/test
kill 123
sleep 5
cd test
mkdir tests
rm -rf tests
mv test.js tests/test.js
touch test.py
chmod +x run_tests.sh
cat run_tests.sh
head -50 tests/test_a.py
vim test.py
find . -name '*.test.ts'
rg 'npm test'
history | grep test
printf 'npm test\\n' >> README.md
alias t='npm test'
export CMD="npm test"
terraform plan
terraform fmt
kubectl get pods
helm template x | kubectl apply -f -
npm test &
nohup npm test > out.log 2>&1 &
python script.py
node src/main.js
./deploy.sh
bash setup.sh
go run .
`,
).filter(({ command }) => !command.startsWith('helm template'))

const passing = '  12 passing (40ms)'
const failing = '  11 passing (40ms)\n  1 failing'

/** How the rest of the line, the exit code and the output affect a check. */
export const otherChecks: readonly CommandRow[] = [
  { command: 'npm test', is: 'failed', code: 1 },
  { command: 'npm run lint && npm test', is: 'failed', code: 2 },
  { command: 'pytest', is: 'failed', code: 5, output: 'collected 0 items' },
  { command: 'pytest', is: 'none', code: 127, output: 'bash: pytest: command not found' },
  { command: 'python -m pytest', is: 'none', code: 1, output: '/usr/bin/python: No module named pytest' },
  { command: 'npm run lint', is: 'none', code: 1, output: 'npm error Missing script: "lint"' },
  { command: 'make check', is: 'none', code: 2, output: "make: *** No rule to make target 'check'.  Stop." },
  { command: 'npm test', is: 'none', code: null },
  // Nothing was checked.
  { command: 'npx vitest run a', is: 'failed', code: 0, output: 'No test files found, exiting with code 0' },
  { command: 'npx jest --passWithNoTests', is: 'failed', code: 0, output: 'No tests found, exiting with code 0' },
  { command: 'go test -run Nope ./...', is: 'failed', output: 'ok  \tpkg\t0.002s [no tests to run]' },
  { command: 'go test -run Nope -v', is: 'failed', output: 'PASS\nok  \tpkg\t0.002s [no tests to run]' },
  { command: 'go test ./...', is: 'passed', output: 'ok  \ta\t0.002s [no tests to run]\nok  \tb\t0.1s' },
  { command: 'npm test --if-present', is: 'failed' },
  { command: 'npm test --if-present', is: 'passed', output: '> a@1.0.0 test' },
  { command: 'npx jest -t nope', is: 'failed', output: 'Tests:       5 skipped, 5 total' },
  { command: 'npx jest -t one', is: 'passed', output: 'Tests:       5 skipped, 1 passed, 6 total' },
  { command: 'npx vitest run -t nope', is: 'failed', output: '      Tests  3 skipped (3)' },
  { command: 'node --test nope.js', is: 'failed', output: 'ℹ tests 0\nℹ pass 0' },
  { command: 'python -m unittest', is: 'failed', output: 'Ran 3 tests in 0.000s\n\nOK (skipped=3)' },
  { command: 'python -m unittest', is: 'passed', output: 'Ran 3 tests in 0.000s\n\nOK (skipped=2)' },
  { command: 'ctest', is: 'failed', output: 'No tests were found!!!' },
  { command: 'prove', is: 'failed', output: 'Files=0, Tests=0\nResult: NOTESTS' },
  { command: 'bats test', is: 'failed', output: '1..0' },
  { command: 'python -m unittest', is: 'failed', code: 0, output: 'Ran 0 tests in 0.000s\n\nOK' },
  {
    command: 'cargo test nothing',
    is: 'failed',
    code: 0,
    output: 'running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 3 filtered out',
  },
  { command: 'go test -run Nothing ./...', is: 'failed', code: 0, output: 'testing: warning: no tests to run\nPASS' },
  { command: 'node --test none', is: 'failed', code: 0, output: '# tests 0\n# pass 0\n# fail 0' },
  { command: 'go test ./...', is: 'passed', code: 0, output: 'ok  \tx/a\t0.01s\n?   \tx/b\t[no test files]' },
  {
    command: 'cargo test',
    is: 'passed',
    code: 0,
    output: 'test result: ok. 5 passed; 0 failed\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed',
  },
  { command: 'gofmt -l .', is: 'failed', code: 0, output: 'main.go' },
  // A pipe hides the exit code: the output decides.
  { command: 'npm test 2>&1 | tail -20', is: 'passed', output: passing },
  { command: 'npm test 2>&1 | tail -20', is: 'failed', output: failing },
  { command: 'npm test 2>&1 | tail -20', is: 'failed', output: '' },
  { command: 'npm test 2>&1 | tail -20', is: 'failed', output: 'npm error code ELIFECYCLE' },
  { command: 'npm test 2>&1 | grep -E "pass|fail"', is: 'passed', output: '# pass 12\n# fail 0' },
  { command: 'npm test 2>&1 | grep -E "pass|fail"', is: 'failed', output: '# pass 12\n# fail 1' },
  { command: 'npx jest 2>&1 | tail -5', is: 'passed', output: 'Tests:       4 passed, 4 total' },
  { command: 'npx jest 2>&1 | tail -5', is: 'failed', output: 'Tests:       1 failed, 3 passed, 4 total' },
  { command: 'npx vitest run | tail -4', is: 'passed', output: ' Test Files  2 passed (2)\n      Tests  9 passed (9)' },
  {
    command: 'npx vitest run | tail -4',
    is: 'failed',
    output: ' Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 8 passed (9)',
  },
  { command: 'pytest -q | tail -3', is: 'passed', output: '5 passed in 0.12s' },
  { command: 'pytest -q | tail -3', is: 'passed', output: '5 passed, 1 warning in 0.12s' },
  { command: 'pytest -q | tail -3', is: 'failed', output: '1 failed, 4 passed in 0.12s' },
  { command: 'pytest -q | tail -3', is: 'failed', output: '5 passed, 1 error in 0.12s' },
  { command: 'pytest -q | tail -3', is: 'failed', output: 'no tests ran in 0.01s' },
  { command: 'python -m unittest 2>&1 | tail -3', is: 'passed', output: 'Ran 3 tests in 0.001s\n\nOK' },
  {
    command: 'python -m unittest 2>&1 | tail -3',
    is: 'failed',
    output: 'Ran 3 tests in 0.001s\n\nFAILED (failures=1)',
  },
  { command: 'go test ./... 2>&1 | tail -5', is: 'passed', output: 'ok  \tx/a\t0.01s' },
  { command: 'go test ./... 2>&1 | tail -5', is: 'failed', output: '--- FAIL: TestA (0.00s)\nFAIL\tx/a\t0.01s\nFAIL' },
  { command: 'cargo test 2>&1 | tail -5', is: 'passed', output: 'test result: ok. 5 passed; 0 failed; 0 ignored' },
  { command: 'cargo test 2>&1 | tail -5', is: 'failed', output: 'test result: FAILED. 4 passed; 1 failed; 0 ignored' },
  {
    command: 'cargo build 2>&1 | tail -3',
    is: 'passed',
    output: '    Finished `dev` profile [unoptimized] target(s) in 1.2s',
  },
  {
    command: 'cargo build 2>&1 | tail -3',
    is: 'failed',
    output: 'error: could not compile `x` (bin "x") due to 1 previous error',
  },
  { command: 'npx tsc --noEmit | head -20', is: 'passed', output: '' },
  {
    command: 'npx tsc --noEmit | head -20',
    is: 'failed',
    output: "a.ts(1,7): error TS2322: Type 'string' is not assignable",
  },
  { command: 'npx tsc --noEmit 2>&1 | grep error', is: 'passed', code: 1, output: '' },
  { command: 'npx tsc --noEmit 2>&1 | wc -l', is: 'failed', output: '0' },
  { command: 'npx eslint . | tail -3', is: 'failed', output: '✖ 2 problems (2 errors, 0 warnings)' },
  { command: 'ruff check . | tail -1', is: 'passed', output: 'All checks passed!' },
  { command: 'mypy . | tail -1', is: 'passed', output: 'Success: no issues found in 4 source files' },
  { command: 'mypy . | tail -1', is: 'failed', output: 'Found 2 errors in 1 file (checked 4 source files)' },
  { command: './gradlew test | tail -3', is: 'passed', output: 'BUILD SUCCESSFUL in 3s' },
  { command: './gradlew test | tail -3', is: 'failed', output: 'BUILD FAILED in 3s' },
  { command: 'mvn -q test | tail -3', is: 'failed', output: '[ERROR] Failed to execute goal' },
  {
    command: 'dotnet test | tail -2',
    is: 'passed',
    output: 'Passed!  - Failed:     0, Passed:     7, Skipped:     0, Total:     7',
  },
  {
    command: 'dotnet test | tail -2',
    is: 'failed',
    output: 'Failed!  - Failed:     1, Passed:     6, Skipped:     0, Total:     7',
  },
  { command: 'phpunit | tail -2', is: 'passed', output: 'OK (3 tests, 4 assertions)' },
  { command: 'phpunit | tail -2', is: 'failed', output: 'Tests: 3, Assertions: 4, Failures: 1.' },
  { command: 'rspec | tail -1', is: 'passed', output: '4 examples, 0 failures' },
  { command: 'rspec | tail -1', is: 'failed', output: '4 examples, 1 failure' },
  { command: 'ctest | tail -3', is: 'passed', output: '100% tests passed, 0 tests failed out of 3' },
  { command: 'ctest | tail -3', is: 'failed', output: '67% tests passed, 1 tests failed out of 3' },
  { command: 'make 2>&1 | tail -5', is: 'failed', output: 'make: *** [Makefile:2: all] Error 1' },
  { command: 'make 2>&1 | tail -5', is: 'passed', output: 'gcc -o main main.c' },
  { command: 'make 2>&1 | tail -5; exit 1', is: 'failed', code: 1, output: 'gcc -o main main.c' },
  // Other ways to hide it.
  { command: 'npm test || true', is: 'passed', output: passing },
  { command: 'npm test || true', is: 'failed', output: failing },
  { command: 'npm test || true', is: 'failed', output: '' },
  { command: 'npm test; true', is: 'passed', output: passing },
  { command: 'npm test; echo done', is: 'failed', output: 'done' },
  // The line may end with exit code 0 before the check.
  { command: 'exit 0; npm test', is: 'failed' },
  { command: 'exit; npm test', is: 'failed' },
  { command: 'false || exit 0; npm test', is: 'failed' },
  { command: 'cd nowhere || { echo skipped; exit 0; }; npm test', is: 'failed', output: 'skipped' },
  { command: 'cd web || exit; npm test', is: 'passed' },
  { command: 'cd web || exit $?; npm test', is: 'passed' },
  { command: 'cd web || exit 1; npm test', is: 'passed' },
  { command: '(exit 0); npm test', is: 'passed' },
  { command: 'exec true; npm test', is: 'failed' },
  { command: 'command exit 0; npm test', is: 'failed' },
  { command: "eval 'exit 0'; npm test", is: 'failed' },
  { command: 'bash -c "exit 0; npm test"', is: 'failed' },
  { command: 'bash -c "exit 0"; npm test', is: 'passed' },
  { command: "trap 'exit 0' EXIT; npm test", is: 'failed' },
  { command: "trap 'rm -f x.log' EXIT; npm test", is: 'passed' },
  { command: 'set -n\nnpm test', is: 'failed' },
  { command: 'done_() { exit 0; }; done_; npm test', is: 'failed' },
  { command: 'log() { echo x; }; log; npm test', is: 'passed', output: 'x' },
  { command: 'npm test || exit 256', is: 'failed' },
  { command: 'npm test || exit $((0))', is: 'failed' },
  { command: 'npm test || exit ${CODE:-0}', is: 'failed' },
  { command: 'npm test || exit $?', is: 'passed' },
  // What `set -e` and `pipefail` do not cover.
  { command: 'set -- -e; npm test; echo done', is: 'failed', output: 'done' },
  { command: '(set -e; npm test; echo a) && echo b', is: 'failed', output: 'a\nb' },
  { command: 'set -e; { npm test; echo a; } && echo b', is: 'failed', output: 'a\nb' },
  { command: 'set -e; { npm test; echo a; }; echo b', is: 'passed', output: 'a\nb' },
  { command: "set -e; bash -c 'npm test; echo a'", is: 'failed', output: 'a' },
  { command: "set -o pipefail; bash -c 'npm test | cat'", is: 'failed', output: 'a' },
  { command: 'false && set -e; npm test; echo a', is: 'failed', output: 'a' },
  { command: 'if [ -n "$CI" ]; then set -e; fi; npm test; echo a', is: 'failed', output: 'a' },
  // Another program with the same name.
  { command: 'npm() { true; }; npm test', is: 'none' },
  { command: 'function npm { echo 1 passed; }; npm test', is: 'none', output: '1 passed' },
  { command: 'shopt -s expand_aliases\nalias npm=true\nnpm test', is: 'none' },
  { command: 'hash -p /bin/true npm; npm test', is: 'none' },
  // Which exit code is printed, and by which program.
  { command: 'npm test; echo "exit $?"; npm run lint; echo "exit $?"', is: 'failed', output: 'exit 1\nexit 0' },
  { command: 'npm test; echo "exit $?"; npm run lint; echo "exit $?"', is: 'passed', output: 'exit 0\nexit 0' },
  { command: 'npm test > log; echo $?; echo "0 warnings"', is: 'failed', output: '1\n0 warnings' },
  { command: 'npm test; echo "$(date) exit $?"', is: 'failed', output: 'today exit 0' },
  // Text that the line itself prints.
  { command: 'npm test | tail -3; echo "All tests passed"', is: 'failed', output: 'bye\nAll tests passed' },
  { command: "npm run build; printf 'Build succeeded\\n'", is: 'failed', output: 'bye\nBuild succeeded' },
  { command: 'npm test | tail -3 && echo PASSED', is: 'failed', output: 'PASSED' },
  { command: 'npm test || echo ok', is: 'failed', output: 'ok' },
  { command: 'npm test | tail -3; echo finished', is: 'passed', output: '5 passed\nfinished' },
  { command: 'npm run build > /dev/null 2>&1; cat /dev/null', is: 'failed' },
  { command: 'npm test > /dev/null 2>&1 || true', is: 'failed', output: passing },
  { command: 'npm test > out.log 2>&1; tail -5 out.log', is: 'passed', output: passing },
  { command: 'npm test > out.log 2>&1; tail -5 out.log', is: 'failed', output: failing },
  { command: '! npm test', is: 'failed', output: '' },
  { command: 'if npm test; then echo good; fi', is: 'failed', output: 'good' },
  { command: 'npm test; echo "exit: $?"', is: 'passed', output: 'exit: 0' },
  { command: 'npm test; echo "exit: $?"', is: 'failed', output: 'exit: 1' },
  { command: 'npm test > out.log 2>&1; echo EXIT=$?; tail -3 out.log', is: 'passed', output: 'EXIT=0\nbye' },
  { command: 'npm test | tail -5; echo "exit: ${PIPESTATUS[0]}"', is: 'passed', output: 'bye\nexit: 0' },
  { command: 'npm test | tail -5; echo "exit: ${PIPESTATUS[0]}"', is: 'failed', output: 'bye\nexit: 2' },
  { command: 'npm test | tail -5; echo "exit: $?"', is: 'failed', output: 'bye\nexit: 0' },
  { command: 'npm run lint; npm test', is: 'failed', output: '3 warnings' },
  { command: 'npx tsc --noEmit; npm test', is: 'passed', output: '' },
  { command: 'npm run build | tail -3 && npm test', is: 'passed', output: 'built in 1.2s' },
  { command: 'npm test && sed -i s/a/b/ src/a.js', is: 'failed', code: 0 },
  { command: 'sed -i s/a/b/ src/a.js && npm test', is: 'passed', code: 0 },
  { command: 'git stash; npm test; git stash pop', is: 'failed', output: passing },
  {
    command: 'go test -v ./a 2>&1 | grep -E "^(---|PASS|FAIL)"',
    is: 'passed',
    output: '--- PASS: TestA (0.01s)\nPASS',
  },
  {
    command: 'go test -v ./a 2>&1 | grep -E "^(---|PASS|FAIL)"',
    is: 'failed',
    output: '--- PASS: TestA (0.01s)\n--- FAIL: TestB (0.01s)',
  },
  { command: 'mise run lint 2>&1 | tail -3', is: 'passed', output: '[lint] Finished in 3.0ms\nFinished in 2.27s' },
  {
    command: 'mise run lint 2>&1 | tail -3',
    is: 'failed',
    output: '[lint:go] * goconst: 1\nFinished in 2.18s\n[lint:go] ERROR task failed',
  },
  { command: 'golangci-lint linters', is: 'none' },
  { command: 'golangci-lint version', is: 'none' },
  { command: 'go install example.org/x/tool@latest', is: 'none' },
  { command: 'sphinx-build -b html docs out', is: 'passed' },
  // Programs that the run has changed.
  { command: 'python apply_fix.py', is: 'none', changed: ['apply_fix.py'] },
  { command: 'python test_fix.py', is: 'passed', changed: ['test_fix.py'] },
  { command: './x.sh --help', is: 'none', changed: ['x.sh'] },
  { command: 'node src/main.js', is: 'passed', changed: ['src/main.js'] },
  { command: 'node ./src/main.js --flag', is: 'passed', changed: ['src/main.js'] },
  { command: 'node src/main.js', is: 'failed', code: 1, changed: ['src/main.js'] },
  { command: 'node src/other.js', is: 'none', changed: ['src/main.js'] },
  { command: 'cd src && node main.js', is: 'passed', changed: ['src/main.js'] },
  { command: 'python3 tools/x.py a', is: 'passed', changed: ['/work/tools/x.py'] },
  { command: 'python -m pkg.mod', is: 'passed', changed: ['pkg/mod.py'] },
  { command: 'python -m pkg', is: 'passed', changed: ['pkg/__main__.py'] },
  { command: 'uv run x.py', is: 'passed', changed: ['x.py'] },
  { command: './x.sh', is: 'passed', changed: ['x.sh'] },
  { command: 'bash x.sh | tail -5', is: 'passed', output: 'fine', changed: ['x.sh'] },
  { command: 'python x.py | head -50', is: 'passed', output: 'fine', changed: ['x.py'] },
  {
    command: 'python x.py 2>&1 | tail -5',
    is: 'failed',
    output: 'Traceback (most recent call last):\nValueError: x',
    changed: ['x.py'],
  },
  { command: 'go run .', is: 'passed', changed: ['main.go'] },
  { command: 'cargo run -q', is: 'passed', changed: ['src/main.rs'] },
  { command: 'gcc x.c -o x && ./x', is: 'passed', changed: ['x.c'] },
  { command: './x', is: 'passed', changed: ['x.c'] },
  { command: "python -c 'import calc; print(calc.add(1, 2))'", is: 'passed', changed: ['calc.py'] },
  { command: "python -c 'from pkg.calc import add; print(add(1, 2))'", is: 'passed', changed: ['pkg/calc.py'] },
  { command: "python -c 'import json; print(1)'", is: 'none', changed: ['calc.py'] },
  {
    command: 'node -e "const { a } = require(\'./src/calc\'); console.log(a)"',
    is: 'passed',
    changed: ['src/calc.js'],
  },
  { command: "python - <<'END'\nfrom calc import add\nprint(add(1, 2))\nEND", is: 'passed', changed: ['calc.py'] },
  { command: "cat > t.py <<'END'\nprint(1)\nEND\npython t.py", is: 'passed' },
  { command: 'cat src/main.js', is: 'none', changed: ['src/main.js'] },
  { command: 'git add src/main.js', is: 'none', changed: ['src/main.js'] },
  { command: 'chmod +x x.sh', is: 'none', changed: ['x.sh'] },
  { command: 'python x.py &', is: 'none', changed: ['x.py'] },
  { command: 'npm run serve', is: 'none', changed: ['src/main.js'] },
]
