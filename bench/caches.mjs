// Are caches of tools as warm for commands that are confined to the workspace as for others? CPU seconds of the first and the second run. See README.md.
// Run: node bench/caches.mjs; needs a build, bubblewrap, and the tools themselves: one that is missing is left out. None of the peers.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SessionWall } from '../packages/policy/dist/index.js'
import { EditWall, ToolCaches } from '../packages/policy/dist/sandbox/wall.js'
import { reaped } from './lib/reaper.mjs'
import { heading, table } from './lib/measure.mjs'

const modules = fileURLToPath(new URL('../node_modules', import.meta.url))
const path = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`
mkdirSync(join(homedir(), '.cache'), { recursive: true })
const base = mkdtempSync(join(homedir(), '.cache/halting-bench-'))

const tools = [
  {
    name: 'go test ./...',
    needs: 'go',
    make: `printf 'module example.org/x\\n\\ngo 1.18\\n' > go.mod
      printf 'package x\\n\\nimport (\\n\\t"net/http"\\n\\t"testing"\\n)\\n\\nfunc TestX(t *testing.T) {\\n\\tif http.StatusOK != 200 {\\n\\t\\tt.Fatal()\\n\\t}\\n}\\n' > x_test.go`,
    line: 'GOFLAGS=-buildvcs=false go test ./...',
  },
  {
    name: 'tsc --incremental',
    needs: 'node',
    modules: ['typescript', '@typescript'],
    make: `mkdir -p src; for i in $(seq 300); do echo "export const f$i = <T>(x: T): [T, number] => [x, $i]; export type T$i = { [K in keyof Window]?: Window[K] }" > src/f$i.ts; done
      echo '{"compilerOptions":{"incremental":true,"noEmit":true,"strict":true,"types":[],"tsBuildInfoFile":"node_modules/.cache/tsbuildinfo"},"include":["src"]}' > tsconfig.json`,
    line: 'node node_modules/typescript/bin/tsc -p .',
  },
  {
    name: 'python3 -m compileall',
    needs: 'python3',
    make: `mkdir p; for i in $(seq 300); do for n in $(seq 40); do echo "def f$n(a, b=$i): return [x * b for x in range(a)] if a else {'k': b}"; done > p/m$i.py; done`,
    line: 'python3 -m compileall -q p',
  },
  {
    name: 'npm pack (its logs and cache)',
    needs: 'npm',
    make: `echo '{"name":"x","version":"1.0.0"}' > package.json; head -c 2000000 /dev/zero > data`,
    line: 'npm pack --silent > /dev/null',
  },
  {
    name: 'gcc through ccache',
    needs: 'ccache',
    make: `for n in $(seq 400); do echo "#include <stdio.h>"; echo "int f$n(int a) { return printf(\\"%d\\", a * $n); }"; done > a.c`,
    line: 'ccache gcc -O2 -c a.c -o a.o; rm a.o',
  },
].filter(({ needs }) => spawnSync('bash', ['-c', `PATH=${path}; command -v ${needs}`]).status === 0)

/** CPU seconds of children that have ended, and of their children. */
function childrenSeconds() {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[13]) + Number(fields[14])) / 100
}

function placeFor(name) {
  const [cwd, home] = [join(base, name, 'project'), join(base, name, 'home')]
  for (const folder of [cwd, join(home, '.cache'), join(home, '.halting')]) mkdirSync(folder, { recursive: true })
  return { cwd, home, env: { PATH: path, HOME: home, LANG: 'C.UTF-8' } }
}

/** @returns CPU seconds. */
function run(line, { cwd, env }, wall) {
  const plain = { file: 'bash', args: ['-c', line], directory: cwd, env, firstDescriptor: 3 }
  const editing = { kind: 'edit', directories: [cwd], readable: [], denied: { read: [], edit: [] }, writesGit: false }
  const held = wall?.confine(plain, editing) ?? { ...plain, descriptors: [], started: () => undefined }
  const before = childrenSeconds()
  const counted = reaped(held.file, held.args)
  const { status, stderr, stdout, pid } = spawnSync(counted.file, counted.args, { cwd, env: held.env, stdio: ['ignore', 'pipe', 'pipe', ...held.descriptors] })
  held.started({ pid })
  held.settle?.()
  if (status !== 0) throw new Error(`${line}: ${String(stdout)}${String(stderr)}`)
  return childrenSeconds() - before
}

function wallFor({ cwd, home }) {
  const session = new SessionWall({ home, configFolder: join(home, '.halting'), path, writable: [cwd], setting: 'auto', isSandboxed: () => false })
  const means = session.edits()
  if (means.kind !== 'bubblewrap') throw new Error(means.why)
  const stateFolder = join(home, '.halting/state')
  mkdirSync(stateFolder, { recursive: true })
  return new EditWall({ means, home, keptFolders: [], stateFolder, caches: new ToolCaches(session.cacheOptions(means.file)) })
}

heading('Caches of tools: seconds of CPU of a run')
try {
  const rows = tools.map(({ name, make, line, modules: packages = [] }, at) => {
    const made = (kind) => {
      const place = placeFor(`${at}-${kind}`)
      execFileSync('bash', ['-ec', make], { cwd: place.cwd, env: place.env })
      for (const each of packages) cpSync(join(modules, each), join(place.cwd, 'node_modules', each), { recursive: true, dereference: true })
      if (packages.length > 0) writeFileSync(join(place.cwd, 'package.json'), '{}')
      return place
    }
    const [free, held, warm] = ['free', 'held', 'warm'].map(made)
    const first = [run(line, free), run(line, free)]
    const wall = wallFor(held)
    const second = [run(line, held, wall), run(line, held, wall)]
    wall.dispose()
    // The first confined run sees what the person's own runs left in the caches.
    run(line, warm)
    const other = wallFor(warm)
    const third = run(line, warm, other)
    other.dispose()
    return [name, ...[...first, ...second, third].map((seconds) => seconds.toFixed(2))]
  })
  console.log(table(['', 'unconfined, first', 'second', 'confined, first', 'second', 'first after unconfined ones'], rows))
} finally {
  rmSync(base, { recursive: true, force: true, maxRetries: 3 })
}
