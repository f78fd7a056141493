// What confinement to reading costs a command, in CPU of the command and its launcher. See README.md.
// Run: node bench/confinement.mjs [--repeats=200]; needs a build, Landlock with perl or bubblewrap, and none of the peers.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { findLandlock, findNamespaces, Wall } from '../packages/agent/dist/sandbox/index.js'
import { heading, median, ms, numberOf, table } from './lib/measure.mjs'

const repeats = numberOf('repeats', 200)
const batch = 20
const cwd = mkdtempSync(join(tmpdir(), 'halting-bench-'))
writeFileSync(join(cwd, 'a.ts'), 'one\n')
const home = homedir()
const path = process.env['PATH'] ?? ''
const lines = ['true', 'ls', 'cat a.ts | head -1']

/** Milliseconds of CPU that children which have ended took, and those that they waited for. */
function childrenMs() {
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]?.split(' ') ?? []
  // In ticks of 10 ms, which is why commands are measured in batches.
  return (Number(fields[13]) + Number(fields[14])) * 10
}

/** @param {Wall | undefined} wall @param {string} line */
function run(wall, line) {
  const plain = { file: 'bash', args: ['-c', line], directory: cwd, env: process.env, firstDescriptor: 3 }
  const held = wall?.confine(plain, [cwd], { kind: 'read', readable: [] }) ?? { ...plain, descriptors: [], started: () => undefined }
  const { status, stderr } = spawnSync(held.file, held.args, { cwd, env: held.env, stdio: ['ignore', 'ignore', 'pipe', ...held.descriptors] })
  held.started()
  if (status !== 0) throw new Error(`${line}: ${String(stderr)}`)
}

const means = [findLandlock(path, []), findNamespaces(path, [])].filter((one) => one !== undefined)
const ways = new Map([['not confined', undefined], ...means.map((one) => [one.kind, new Wall({ means: one, home })])])
heading(`Confinement to reading: CPU a command, ${repeats} times each, in batches of ${batch} by turns`)
try {
  const rows = lines.map((line) => {
    const figures = new Map([...ways.keys()].map((name) => [name, []]))
    for (let round = 0; round < repeats / batch; round += 1)
      for (const [name, wall] of ways) {
        const [before, own] = [childrenMs(), process.cpuUsage()]
        for (let at = 0; at < batch; at += 1) run(wall, line)
        const { user, system } = process.cpuUsage(own)
        figures.get(name).push((childrenMs() - before + (user + system) / 1000) / batch)
      }
    const bare = median(figures.get('not confined'))
    return [line, ...[...figures.values()].map((list) => `${ms(median(list))} (+${ms(median(list) - bare)})`)]
  })
  console.log(table(['', ...ways.keys()], rows))
} finally {
  for (const wall of ways.values()) wall?.dispose()
  rmSync(cwd, { recursive: true, force: true })
}
