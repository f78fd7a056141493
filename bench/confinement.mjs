// What confinement costs a command, in CPU of this process, the command and its launcher: to reading, and to the workspace. See README.md.
// Run: node bench/confinement.mjs [--repeats=200] [--sizes=100,20000,300000]; needs a build, Landlock with perl or bubblewrap, and none of the peers.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { SessionWall } from '../packages/policy/dist/index.js'
import { EditWall, ToolCaches, Wall } from '../packages/policy/dist/sandbox/wall.js'
import { findLandlock, findNamespaces } from '../packages/agent/dist/sandbox/index.js'
import { reaped } from './lib/reaper.mjs'
import { heading, median, ms, numberOf, table } from './lib/measure.mjs'

const repeats = numberOf('repeats', 200)
const batch = 20
const sizes = (process.argv.find((each) => each.startsWith('--sizes='))?.slice(8) ?? '100,20000,300000').split(',').map(Number)
const home = homedir()
// Not below `/tmp`, which is writable for commands that are confined to the workspace.
mkdirSync(join(home, '.cache'), { recursive: true })
const base = mkdtempSync(join(home, '.cache/halting-bench-'))
const path = process.env['PATH'] ?? ''

/** A project with this many files, a hundred per folder, and the usual files of a project. @param {number} files */
function makeProject(files) {
  const cwd = join(base, `project-${files}`)
  for (const folder of ['.git/hooks', '.git/objects', '.git/refs', '.github/workflows', '.vscode']) mkdirSync(join(cwd, folder), { recursive: true })
  writeFileSync(join(cwd, '.git/HEAD'), 'ref: refs/heads/main\n')
  writeFileSync(join(cwd, '.git/config'), '[core]\n\trepositoryformatversion = 0\n')
  for (const name of ['a.ts', '.gitattributes', '.npmrc', '.vscode/settings.json']) writeFileSync(join(cwd, name), '\n')
  for (let at = 0; at < files; at += 1) {
    const folder = join(cwd, 'src', String(Math.floor(at / 100)))
    if (at % 100 === 0) mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `${at}.ts`), '')
  }
  return cwd
}

/** CPU milliseconds of children that have ended, and of their children. */
function childrenMs() {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? []
  // In ticks of 10 ms, which is why commands are measured in batches.
  return (Number(fields[13]) + Number(fields[14])) * 10
}

/** @typedef {(plain: any, cwd: string) => any} Confine */

/** @param {Confine | undefined} confine @param {string} line @param {string} cwd */
function run(confine, line, cwd) {
  const plain = { file: 'bash', args: ['-c', line], directory: cwd, env: process.env, firstDescriptor: 3 }
  const held = confine?.(plain, cwd) ?? { ...plain, descriptors: [], started: () => undefined }
  const counted = reaped(held.file, held.args)
  const { status, stderr, pid } = spawnSync(counted.file, counted.args, { cwd, env: held.env, stdio: ['ignore', 'ignore', 'pipe', ...held.descriptors] })
  held.started({ pid })
  held.settle?.()
  if (status !== 0) throw new Error(`${line}: ${String(stderr)}`)
}

/** @param {string} cwd @returns {{ ways: Map<string, Confine | undefined>, dispose: () => void }} */
function waysFor(cwd) {
  const walls = [findLandlock(path, []), findNamespaces(path, [])].filter((one) => one !== undefined).map((means) => [`read, ${means.kind}`, new Wall({ means, home })])
  const session = new SessionWall({ home, configFolder: join(base, 'config'), path, writable: [cwd], setting: 'auto', isSandboxed: () => false })
  const means = session.edits()
  const stateFolder = join(base, 'state')
  mkdirSync(stateFolder, { recursive: true })
  const editors = means.kind === 'bubblewrap'
    ? [
        ['edit', new EditWall({ means, home, keptFolders: [], stateFolder })],
        ['edit, with caches', new EditWall({ means, home, keptFolders: [], stateFolder, caches: new ToolCaches(session.cacheOptions(means.file)) })],
      ]
    : []
  const editing = { kind: 'edit', directories: [cwd], readable: [], denied: { read: [], edit: [] }, writesGit: false }
  return {
    ways: new Map([
      ['not confined', undefined],
      ...walls.map(([name, wall]) => [name, (plain, folder) => wall.confine(plain, [folder], { kind: 'read', readable: [] })]),
      ...editors.map(([name, wall]) => [name, (plain) => wall.confine(plain, editing)]),
    ]),
    dispose: () => [...walls, ...editors].forEach(([, wall]) => wall.dispose()),
  }
}

/** @param {string} cwd @param {readonly string[]} lines @param {string} title */
function measure(cwd, lines, title) {
  const { ways, dispose } = waysFor(cwd)
  try {
    // Work that is done once, such as reading a project of which nothing changes, is not the cost of one command.
    const first = new Map()
    for (const [name, confine] of ways) {
      const own = process.cpuUsage()
      run(confine, 'true', cwd)
      const { user, system } = process.cpuUsage(own)
      first.set(name, (user + system) / 1000)
    }
    const rows = lines.map((line) => {
      const figures = new Map([...ways.keys()].map((name) => [name, { all: [], own: [] }]))
      for (let round = 0; round < Math.max(1, repeats / batch); round += 1)
        for (const [name, confine] of ways) {
          const [before, own] = [childrenMs(), process.cpuUsage()]
          for (let at = 0; at < batch; at += 1) run(confine, line, cwd)
          const { user, system } = process.cpuUsage(own)
          figures.get(name).all.push((childrenMs() - before + (user + system) / 1000) / batch)
          figures.get(name).own.push((user + system) / 1000 / batch)
        }
      const bare = median(figures.get('not confined').all)
      return [`${title}${line}`, ...[...figures.values()].map(({ all, own }) => `${ms(median(all))} (+${ms(median(all) - bare)}; node ${ms(median(own))})`)]
    })
    return { names: [...ways.keys()], rows: [...rows, [`${title}the first, node alone`, ...[...first.values()].map(ms)]] }
  } finally {
    dispose()
  }
}

heading(`Confinement: CPU a command in milliseconds, ${repeats} times each, in batches of ${batch} by turns`)
try {
  const parts = sizes.map((files, at) => measure(makeProject(files), at === 0 ? ['true', 'ls', 'cat a.ts | head -1'] : ['true'], sizes.length > 1 ? `${files.toLocaleString('en')} files: ` : ''))
  console.log(table(['', ...parts[0].names], parts.flatMap(({ rows }) => rows)))
} finally {
  rmSync(base, { recursive: true, force: true })
}
