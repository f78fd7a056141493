// The costs of a cluster: steps compared with a bare handler of the engine, latency of a session, sessions that wait, clients that wait, and more workers. See README.md.
// Run: node bench/cluster.mjs [steps|latency|suspended|waiting|workers…] [--repeats=3] [--sessions=5000]. Needs a build; npm brings the engine's server and a Node for it.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleInto, serverOf } from '../scripts/cluster-programs.mjs'
import { newestNode } from '../scripts/node-binaries.mjs'
import { root } from '../scripts/packages.mjs'

const server = serverOf('restate')
const node = newestNode()
const missing = server.why ?? node.why
if (missing !== undefined) throw new Error(missing)
const bundled = fileURLToPath(new URL('.tmp/bench-cluster/', root))
const programs = ['figures', 'worker', 'follow'].map((name) => `bench/cluster/${name}.mjs`)
await bundleInto(bundled, { entryPoints: programs, outbase: 'bench/cluster' })

const folder = mkdtempSync(join(tmpdir(), 'halting-bench-'))
try {
  const parameters = [join(bundled, 'figures.mjs'), server.program, server.version, folder, ...process.argv.slice(2)]
  const { status } = spawnSync(join(node.bin, 'node'), parameters, { stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
