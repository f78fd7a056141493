import { type Project, rowsOf } from './project.ts'

/** Available packages with their dependencies, in npm's layout: no link leads out. */
const install = `
  node --input-type=module - <<'E'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
const from = join(process.env.REPOSITORY, 'node_modules')
const seen = new Set()
mkdirSync('node_modules/.bin', { recursive: true })
function take(name) {
  const source = join(from, name)
  if (seen.has(name) || !existsSync(source)) return
  seen.add(name)
  cpSync(source, join('node_modules', name), { recursive: true })
  const { dependencies = {}, optionalDependencies = {}, bin = {} } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  const programs = typeof bin === 'string' ? { [name.split('/').pop()]: bin } : bin
  for (const [program, file] of Object.entries(programs)) {
    try { symlinkSync(relative('node_modules/.bin', join('node_modules', name, file)), join('node_modules/.bin', program)) } catch {}
  }
  for (const each of Object.keys({ ...dependencies, ...optionalDependencies })) take(each)
}
for (const name of ['typescript', 'vitest', 'oxlint', 'oxfmt', 'semver']) take(name)
E`

const files = `
  mkdir -p src test scripts packages/one packages/two
  cat > package.json <<'E'
{
  "name": "sample", "version": "1.2.3", "type": "module", "license": "MIT", "files": ["src"],
  "workspaces": ["packages/*"],
  "scripts": {
    "build": "tsc -p .", "test": "node --test test/plain.test.js", "unit": "vitest run", "lint": "oxlint src", "gen": "node scripts/gen.mjs",
    "prebuild": "node -e \\"console.log('before')\\"", "fails": "node -e \\"process.exit(3)\\"", "env": "node -p process.env.npm_package_version",
    "clean": "node scripts/clean.mjs", "commit": "git commit -qam automatic", "all": "npm run build && npm test"
  }
}
E
  for p in one two; do echo "{\\"name\\":\\"@sample/$p\\",\\"version\\":\\"1.0.0\\",\\"scripts\\":{\\"test\\":\\"node -p 1\\"}}" > packages/$p/package.json; done
  echo '{"compilerOptions":{"target":"es2022","module":"nodenext","moduleResolution":"nodenext","strict":true,"outDir":"dist","declaration":true,"incremental":true,"types":[],"lib":["es2022","dom"]},"include":["src"]}' > tsconfig.json
  echo '{"compilerOptions":{"target":"es2022","module":"nodenext","noEmit":true,"strict":true,"types":[]},"files":["src/wrong.txt.ts"]}' > tsconfig.wrong.json
  echo 'export const add = (a: number, b: number): number => a + b' > src/add.ts
  echo 'import { add } from "./add.js"; export const three = add(1, 2)' > src/index.ts
  echo 'const x: number = "text"; debugger; export {x}' > src/wrong.txt.ts
  echo '{"compilerOptions":{"strict":true},"exclude":["src/wrong.txt.ts"]}' > tsconfig.eslint.json
  sed -i 's#"include":\\["src"\\]#"include":["src"],"exclude":["src/wrong.txt.ts"]#' tsconfig.json
  echo 'import test from "node:test"; import assert from "node:assert"; test("adds", () => assert.equal(1 + 1, 2))' > test/plain.test.js
  cat > test/unit.test.ts <<'E'
import { expect, test } from 'vitest'
import { add } from '../src/add'
test('adds', () => expect(add(1, 2)).toBe(3))
test('shows', () => expect({ a: 1 }).toMatchSnapshot())
E
  echo 'export default { test: { include: ["test/*.test.ts"], pool: "forks" } }' > vitest.config.js
  cat > test/server.test.js <<'E'
import test from 'node:test'
import assert from 'node:assert'
import { createServer } from 'node:http'
test('answers', async () => {
  const server = createServer((_, response) => response.end('hello'))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const answer = await fetch('http://127.0.0.1:' + server.address().port)
  assert.equal(await answer.text(), 'hello')
  server.close()
})
E
  cat > test/socket.test.js <<'E'
import test from 'node:test'
import { createServer, connect } from 'node:net'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
test('a Unix socket answers', async () => {
  const place = join(mkdtempSync(join(tmpdir(), 'socket-')), 's')
  const server = createServer((socket) => socket.end('x'))
  await new Promise((resolve) => server.listen(place, resolve))
  await new Promise((resolve) => connect(place).on('data', () => undefined).on('end', resolve))
  server.close()
})
E
  echo 'import { mkdirSync, writeFileSync } from "node:fs"; mkdirSync("generated", { recursive: true }); for (let i = 0; i < 20; i++) writeFileSync("generated/f" + i + ".js", "export default " + i); console.log("generated 20")' > scripts/gen.mjs
  echo 'import { rmSync } from "node:fs"; rmSync("dist", { recursive: true, force: true }); rmSync("generated", { recursive: true, force: true })' > scripts/clean.mjs
  echo 'import { fork } from "node:child_process"; if (process.argv[2] === "child") process.send({ from: "child" }); else fork(new URL(import.meta.url), ["child"]).on("message", (m) => console.log(m.from))' > scripts/forks.mjs
  echo 'import { Worker, isMainThread, parentPort } from "node:worker_threads"; if (isMainThread) new Worker(new URL(import.meta.url)).on("message", console.log); else parentPort.postMessage("worker")' > scripts/threads.mjs
  printf 'try { await fetch("http://example.org") } catch (error) { console.log(String(error.cause?.code ?? error)); process.exit(4) }' > scripts/fetches.mjs
  printf 'import { writeFileSync } from "node:fs"\\nwriteFileSync(".envrc", "export A=1")\\nconsole.log("written")' > scripts/obeyed.mjs
  printf 'npm view semver version\\n' > scripts/view.sh; printf 'npm install --no-audit left-pad\\n' > scripts/install.sh
  printf 'npx --yes cowsay hello\\n' > scripts/npx.sh; printf 'curl -sS http://example.org\\n' > scripts/curl.sh
  printf 'import { writeFileSync } from "node:fs"\\nimport { homedir } from "node:os"\\nwriteFileSync(homedir() + "/notes", "x")\\nconsole.log("written")' > scripts/home.mjs
  printf 'import { execSync } from "node:child_process"\\nexecSync("git stash -q", { stdio: "inherit" })' > scripts/stashes.mjs
  echo '# Sample' > README.md; printf 'node_modules\\ndist\\ngenerated\\n*.tsbuildinfo\\n' > .gitignore
  printf '{"name":"sample","version":"1.2.3","lockfileVersion":3,"requires":true,"packages":{"":{"name":"sample","version":"1.2.3"}}}' > package-lock.json
  git init -q --template=; git add -A; git commit -qm first; echo changed >> README.md`

const rows = [
  ...rowsOf(
    `
    node -p 'process.version + process.cwd()'
    node --test test/plain.test.js
    npm test
    npm run build
    npm run gen && git status --short | head -3
    npm run fails; echo "code $?"
    node scripts/gen.mjs && node scripts/clean.mjs && ls
    node -e 'require("fs").writeFileSync("out.txt", "x")'; cat out.txt
    node scripts/forks.mjs
    mkdir -p a/b && touch a/b/c && cp -r a d && mv d e && rm -r a && ls -R e
    sed -i 's/Sample/Other/' README.md && git diff --stat
    for f in src/*.ts; do wc -l "$f"; done > counts.txt; cat counts.txt
    printf 'all: out\\nout: README.md\\n\\tcp README.md out\\n' > Makefile && make && make
    tar czf out.tgz src && tar tzf out.tgz | sort && rm out.tgz`,
    { quick: true },
  ),
  ...rowsOf(`
    npx tsc -p .
    npx tsc --noEmit -p tsconfig.wrong.json
    npx tsc -p . && npx tsc -p . --listEmittedFiles
    npx tsc --version
    npx tsc --showConfig -p .
    npx vitest run
    npx vitest run --reporter=json --outputFile=.out.json >/dev/null; node -p 'JSON.parse(require("fs").readFileSync(".out.json")).numPassedTests'; rm .out.json
    npx vitest list
    npm run unit
    npm run lint
    npx oxlint src/wrong.txt.ts
    npx oxlint --fix src
    npx oxfmt --check src; echo $?
    npx oxfmt src && git diff --stat
    npx semver 1.2.3 -r '>1'
    npm ls
    npm ls --all | head -5
    npm pack --dry-run 2>&1 | tail -8
    npm pack --silent && tar tzf sample-1.2.3.tgz
    npm run
    npm run env
    npm run all
    npm test --workspaces
    npm pkg get name version
    npm pkg set description=x && git diff package.json
    npm version 2.0.0 --no-git-tag-version
    npm query '.workspace' | head -3
    npm explain vitest | head -2
    npm root && npm prefix
    npm exec --no -- tsc --version
    node test/server.test.js
    node test/socket.test.js
    node --test test/*.test.js
    node --experimental-strip-types -p 1 || true
    node --check scripts/gen.mjs && echo fine
    node --input-type=module -e 'import { cpus } from "node:os"; console.log(cpus().length > 0)'
    node scripts/threads.mjs
    node -p 'os.tmpdir().length > 0 && os.userInfo().uid === process.getuid()'
    node -e 'const f = require("fs"), o = require("os"), p = require("path"); const d = f.mkdtempSync(p.join(o.tmpdir(), "x-")); f.writeFileSync(d + "/a", "1"); console.log(f.readFileSync(d + "/a", "utf8"))'
    node -e 'process.kill(process.pid, "SIGTERM")'; echo $?
    node -e 'setTimeout(() => console.log("late"), 300)' & wait; echo done
    node -e 'console.log(require("child_process").execSync("git rev-parse HEAD").toString().length)'
    node -p 'require("fs").statSync("package.json").mode.toString(8)'
    chmod +x scripts/gen.mjs && ls -l scripts/gen.mjs | cut -c1-10
    ln -s src linked && ls linked/ && readlink linked
    find . -name '*.ts' -not -path './node_modules/*' -exec sed -i 's/number/bigint/g' {} + && git diff --stat
    grep -rl add src | xargs perl -pi -e 's/add/sum/g' && git diff src | grep '^[+-]' | head
    echo "$HOME" | wc -c; test -d "$HOME" && echo there
    mktemp -d | grep -c /; mktemp | grep -c /
    timeout 0.3 node -e 'setInterval(() => 0, 99)'; echo $?
    ulimit -n > /dev/null && echo x > /dev/shm/test-equal-$$ && cat /dev/shm/test-equal-$$ && rm /dev/shm/test-equal-$$
    cat > new.mjs <<'X'⏎export const a = 1⏎X⏎node new.mjs && cat new.mjs
    git add -A && git status --short
    git add README.md && git commit -qm second && git log --oneline | wc -l
    git diff > change.patch; git status --short`),
  { command: 'node scripts/fetches.mjs', differs: 'no network', reaches: true },
  { command: 'sh scripts/view.sh', differs: 'no network', reaches: true },
  { command: 'sh scripts/install.sh', differs: 'no network', reaches: true },
  { command: 'sh scripts/npx.sh', differs: 'no network', reaches: true },
  { command: 'sh scripts/curl.sh', differs: 'no network', reaches: true },
  { command: 'node scripts/obeyed.mjs && ls -A', differs: 'protected place' },
  { command: `node -p 'require("fs").readdirSync(require("os").homedir()).join()'`, differs: 'hidden home' },
  { command: `node -p 'require("fs").existsSync("../beside")'`, differs: 'hidden home' },
  { command: 'npm run commit; git log --oneline | wc -l', differs: '.git read-only' },
  { command: 'node scripts/stashes.mjs; git status --short', differs: '.git read-only' },
  { command: 'npm version patch --force', differs: '.git read-only' },
  { command: 'curl -s http://example.org', asks: true },
  { command: 'git stash', asks: true },
  { command: 'npm view semver version', asks: true },
  { command: 'npm install left-pad', asks: true },
  { command: 'npx --yes cowsay hello', asks: true },
  { command: 'npm config set fund false --location=user', asks: true },
  { command: '(sleep 0.2; echo later > late.txt) & sleep 0.5; cat late.txt', asks: true },
  { command: 'node -e 0 > .envrc', asks: true },
] as const

export const nodeProject: Project = {
  name: 'node',
  needs: ['node', 'npm', 'git', 'perl', 'make'],
  kept: ['node_modules'],
  install,
  script: files,
  rows: rows.map((row) => ({ ...row, command: row.command.replaceAll('⏎', '\n') })),
}
