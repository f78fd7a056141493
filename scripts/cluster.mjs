// Tests the cluster code against real servers: nodes of Restate's server, and workers on a Node that its SDK runs on. npm brings both. Needs a build. The numbers of
// passed, failed and skipped tests are in .tmp/cluster.json. Run: node scripts/cluster.mjs [NAME…] [--minutes=2 --sessions=20 --seed=14]
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleInto, serverOf } from './cluster-programs.mjs'
import { newestNode } from './node-binaries.mjs'
import { pack } from './pack.mjs'
import { root } from './packages.mjs'

/** A program ends with this code when `skip` in packages/restate/test/cluster is called. */
const cannotRunHere = 77
const patienceMs = 600_000 + Number(numberOf('minutes', 0)) * 60_000
const bundled = fileURLToPath(new URL('.tmp/cluster/', root))

/** Files to bundle: programs of packages/restate/test/cluster, and the workers that they start. */
const programs = [
  'access',
  'kit',
  'kit-worker',
  'soak',
  'soak-worker',
  'same',
  'worker',
  'sessions',
  'sessions-worker',
  'bucket',
  'fleet',
  'fleet-worker',
  'money',
  'tenant-money',
  'upgrade',
  'take-over',
  'lost',
  'zombie',
  'claims',
  'remedy',
  'program',
  'drain',
  'waits',
  'three-nodes',
  'operations',
  'restore',
  'listing',
  'poison',
  'poison-worker',
  'load',
  'load-worker',
  'queue',
  'suspended',
  'clients',
  'growth',
  'growth-worker',
  'carried',
  'disk-full',
  'clocks',
]
/** For each title, a program of packages/restate/test/cluster and its arguments after the server and the folder. */
const checks = {
  'the kit of drivers on one node: workers are killed and cut off': ['kit', '1', 'workers'],
  'the kit of drivers on one node: the server is killed, too': ['kit', '1', 'servers'],
  'the kit of drivers on three nodes, of which one after another is killed': ['kit', '3', 'servers'],
  'sessions on three nodes while workers and nodes are killed at random': [
    'soak',
    numberOf('minutes', 2),
    numberOf('sessions', 20),
    numberOf('seed', 14),
  ],
  'the same sessions in memory and on a node': ['same', numberOf('sessions', 20), numberOf('seed', 14)],
  'who may do what: a token, and an engine that signs': ['access'],
  'fault: upgrade, two versions of a worker beside each other': ['upgrade'],
  'fault: upgrade with running sessions, a worker that takes them over': ['take-over'],
  'fault: a worker is killed and never returns': ['lost'],
  'fault: a zombie, a worker that is stopped and wakes up': ['zombie'],
  'fault: two workers claim one session': ['claims'],
  'the commands of the guide for a lost worker': ['remedy'],
  'fault: a client is killed or terminated': ['clients'],
  'payloads in a bucket': ['bucket'],
  'the program: the commands of the guide, and a worker that is terminated': ['program'],
  'the program from a clean folder: installed from packages, it brings the server': ['program', installed],
  'workers behind one address, terminated while commands run': ['drain'],
  'calls that wait for a person, and a back-up of the data': ['waits'],
  'fault: an older back-up is restored while work has gone on': ['restore'],
  'growth: what tools returned is stored once, and a journal has an end': ['growth'],
  'growth: copies, money and removal of sessions that several invocations have worked at': ['carried'],
  'a session that is paused, large records, a worker that others reach': ['operations'],
  'listing: many sessions in pages, and one replayed, exported and deleted by commands': ['listing'],
  'the commands of the guide for three nodes, of which one after another is missing': ['three-nodes'],
  'sessions by the ingress and the client: a worker is killed in mid-stream': ['sessions'],
  'fault: the disk of the engine is full, and has room again': ['disk-full', 'store'],
  'fault: the log of the engine is full, and a supervisor starts it again': ['disk-full', 'log'],
  'fault: clocks of workers are an hour ahead and behind': ['clocks'],
  'tenants, gates and a bucket by `halting serve`: a worker is killed': ['money'],
  'fault: a hundred sessions for a dollar, of which each request may cost many times what it does': ['tenant-money'],
  'fault: a session that kills its worker': ['poison'],
  'fault: 500 sessions on the 32 places of one worker': ['load', '1'],
  'fault: 500 sessions on two workers with 16 places each': ['load', '2'],
  'fault: a long queue: a worker joins, one is terminated, and one is killed': ['queue'],
  'fault: 1,000 sessions that wait for a person are answered at once': ['suspended', '1000'],
  'money and turns of a fleet: thirty sessions of a tenant, and workers that are killed': ['fleet'],
}
/** Programs that need another server as well as the engine. */
const besideOf = { money: 's3' }
/** Programs that need another server instead of the engine. */
const otherServers = { bucket: 's3' }
/** The last argument of a program, if npm has that server. */
const companions = { operations: 'restate-cli' }

const wanted = process.argv.slice(2).filter((each) => !each.startsWith('--'))
const node = newestNode()
if (node.why === undefined) await bundlePrograms()
const outcomes = []
for (const [title, check] of Object.entries(checks))
  if (wanted.length === 0 || wanted.some((word) => title.includes(word))) outcomes.push(await outcomeOf(title, check))
tell(outcomes)

async function bundlePrograms() {
  const cluster = (name) => `packages/restate/test/cluster/${name}.ts`
  await bundleInto(bundled, { entryPoints: programs.map(cluster) })
  const other = (entryPoints, changes) => bundleInto(bundled, { entryPoints, plugins: [otherFormat(changes)] })
  await other(
    { 'worker-later': cluster('worker') },
    { 'storageFormat = 2': 'storageFormat = 3', 'stepFormat = 1': 'stepFormat = 3' },
  )
  // It reads nothing that this version has added.
  await other({ 'growth-worker-earlier': cluster('growth-worker') }, { 'storageFormat = 2': 'storageFormat = 1' })
}

/** Builds a worker as another version would: its storage format differs. */
function otherFormat(changes) {
  const change = ({ path }) => {
    let contents = readFileSync(path, 'utf8')
    for (const [before, after] of Object.entries(changes)) {
      if (!contents.includes(before)) throw new Error(`${path} has another format.`)
      contents = contents.replace(before, after)
    }
    return { contents, loader: 'ts' }
  }
  return { name: 'other format', setup: ({ onLoad }) => onLoad({ filter: /engine\/format\.ts$/ }, change) }
}

async function outcomeOf(title, [program, ...given]) {
  const server = serverOf(otherServers[program] ?? 'restate')
  const beside = program in besideOf ? [serverOf(besideOf[program])] : []
  const missing = server.why ?? node.why ?? beside[0]?.why
  if (missing !== undefined) return { title, kind: 'skipped', why: missing }
  const companion = companions[program] === undefined ? [] : [serverOf(companions[program]).program ?? '']
  const folder = mkdtempSync(join(tmpdir(), 'halting-cluster-'))
  try {
    const parameters = [
      join(bundled, `${program}.mjs`),
      server.program,
      folder,
      ...given.map((each) => (typeof each === 'function' ? each(folder) : each)),
      ...companion,
      ...beside.map((each) => each.program),
    ]
    const { status, output } = await ran(join(node.bin, 'node'), parameters)
    if (status === 0) return { title, kind: 'passed', output: output.trim() }
    if (status === cannotRunHere) return { title, kind: 'skipped', why: output.trim() }
    return { title, kind: 'failed', why: `exit ${status}\n${output}` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Runs a program and prints its output immediately, too. Ends it, and all processes that it started, when it is done or takes too long. */
async function ran(program, parameters) {
  const child = spawn(program, parameters, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (piece) => (output += piece))
  child.stderr.on('data', (piece) => {
    output += piece
    process.stderr.write(piece)
  })
  const patience = setTimeout(() => endGroup(child.pid), patienceMs)
  const closed = once(child, 'close')
  const [status, signal] = await once(child, 'exit')
  clearTimeout(patience)
  endGroup(child.pid)
  await closed
  return { status: status ?? signal, output }
}

function endGroup(leader) {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch (error) {
    // No process of the group is left.
    if (error.code !== 'ESRCH') throw error
  }
}

/** The program as `npm install --global halting @halting/restate` installs it, from packages that are packed here. */
function installed(folder) {
  const prefix = join(folder, 'prefix')
  const options = ['--prefix', prefix, '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  execFileSync('npm', ['install', '--global', ...options, ...pack().map(({ tarball }) => tarball)], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: patienceMs,
  })
  return join(prefix, 'lib', 'node_modules', 'halting', 'bin', 'halting.js')
}

function tell(all) {
  for (const { title, kind, why, output } of all)
    console.log([`${kind}: ${title}`, why ?? output].filter(Boolean).join(': '))
  const count = (kind) => all.filter((outcome) => outcome.kind === kind).length
  const sum = { passed: count('passed'), failed: count('failed'), skipped: count('skipped') }
  writeFileSync(new URL('.tmp/cluster.json', root), `${JSON.stringify(sum)}\n`)
  console.log(`cluster: ${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`)
  process.exitCode = sum.failed === 0 ? 0 : 1
}

/** The value of `--name=NUMBER`. */
function numberOf(name, otherwise) {
  const begin = `--${name}=`
  const given = process.argv.find((each) => each.startsWith(begin))
  return given === undefined ? String(otherwise) : given.slice(begin.length)
}
