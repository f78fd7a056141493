// What the sandbox adds to the cost of a command. See README.md.
// Run: node bench/sandbox.mjs [--repeats=60]; needs bubblewrap and a build, and none of the peers.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createBashTool, createPermissions, Workspace } from '../packages/agent/dist/index.js'
import { openSandbox, sandboxSettingsOf } from '../packages/agent/dist/sandbox/index.js'
import { heading, median, ms, numberOf, table } from './lib/measure.mjs'

const repeats = numberOf('repeats', 60)
const base = mkdtempSync(join(homedir(), '.halting-bench-'))

/** A project with this many files, in folders of a hundred. @param {number} files */
function projectOf(files) {
  const project = mkdtempSync(join(base, 'project-'))
  for (let at = 0; at < files; at += 1) {
    const folder = join(project, `folder-${Math.floor(at / 100)}`)
    if (at % 100 === 0) mkdirSync(folder)
    writeFileSync(join(folder, `file-${at}`), 'x')
  }
  return project
}

/** @param {string} project @param {{ domains?: readonly string[], deny?: readonly string[] }} [options] */
async function heldShell(project, { domains = [], deny = [] } = {}) {
  const workspace = new Workspace({ cwd: project })
  const permissions = createPermissions({ cwd: project, deny })
  workspace.sandbox = await openSandbox({
    cwd: project,
    directories: [project],
    home: homedir(),
    settings: sandboxSettingsOf([{ enabled: true, network: { allowedDomains: domains } }]),
    denied: () => permissions.deniedPlaces(),
  })
  return workspace
}

/** @param {Workspace} workspace */
function commandIn(workspace) {
  const tool = createBashTool(workspace)
  const context = { callId: 'c', signal: new AbortController().signal }
  // `touch` may write, so the whole project is described.
  return () => tool.execute({ command: 'touch x' }, context)
}

const bare = (project) => () =>
  new Promise((resolve) => spawn('bash', ['-c', 'touch x'], { cwd: project, stdio: 'ignore' }).once('exit', resolve))

const percentile = (times, share) => times.toSorted((one, other) => one - other)[Math.floor(times.length * share)] ?? 0

heading('The sandbox, a command')
try {
  const [small, large] = [projectOf(100), projectOf(20_000)]
  const plain = new Workspace({ cwd: small })
  const workspaces = [plain, await heldShell(small), await heldShell(large, { deny: ['Read(.env)'] }), await heldShell(small, { domains: ['example.com'] })]
  const [bash, held, denying, proxied] = workspaces.map(commandIn)
  const runs = {
    'bare spawn of bash': bare(small),
    'Bash tool, no sandbox': bash,
    'Bash tool, sandbox': held,
    'sandbox, Read(.env) denied, 20,000 files': denying,
    'sandbox, a domain allowed': proxied,
  }
  const times = Object.fromEntries(Object.keys(runs).map((name) => [name, []]))
  for (let round = 0; round < repeats; round += 1) {
    for (const [name, run] of Object.entries(runs)) {
      const began = performance.now()
      const result = await run()
      if (typeof result === 'object' && result.isError === true) throw new Error(`${name}: ${result.content}`)
      times[name].push(performance.now() - began)
    }
  }
  console.log(table(
    ['', 'p50', 'p99'],
    Object.entries(times).map(([name, list]) => [name, ms(median(list)), ms(percentile(list, 0.99))]),
  ))
  for (const workspace of workspaces) await workspace.dispose()
} finally {
  rmSync(base, { recursive: true, force: true })
}
