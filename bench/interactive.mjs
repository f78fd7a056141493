// Costs of the interactive terminal programs: the time from the start until typed text is visible, memory, and for a streamed reply CPU and bytes per token. Also how long
// a key takes to be visible meanwhile, in a new conversation, after many lines, and while a command writes 10 MB. See README.md. Linux, and script of util-linux.
// Run: node bench/interactive.mjs [--repeats=5] [--peers=FOLDER] [--tokens=600] [--lines=20000] [--only=start] [--node=PATH] [--before=CHECKOUT]. Needs a build.
// FOLDER holds node_modules with the peers; missing ones are left out. CHECKOUT is another build of Halting, which is measured alternately with this one.
import { fork, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { heading, median, ms, numberOf, table, textOf } from './lib/measure.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const repeats = numberOf('repeats', 5)
const tokens = numberOf('tokens', 600)
const lines = numberOf('lines', 20_000)
const isStartOnly = textOf('only', '') === 'start'
const peers = join(textOf('peers', here), 'node_modules')
const limitMs = 120_000
const ticksPerMs = 0.1
const keys = 'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞ'
/** Keys that were not typed earlier: earlier ones are drawn again. */
const otherKeys = 'абвгдежзийклмнопрстуфхцчшщъыьэюяєіїґџ'
/** Ten megabytes, in at least two and a half seconds. */
const flood = "for i in $(seq 50); do head -c 200000 /dev/zero | tr '\\0' x | fold -w 80; sleep 0.05; done"

const node = textOf('node', process.execPath)
const before = textOf('before', '')
const built = (checkout) => ({ url }) => ({
  command: [node, join(checkout, 'packages/cli/bin/halting.js'), '--dangerously-skip-permissions'],
  shell: 'Bash',
  env: { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: url },
})

const programs = {
  halting: built(join(here, '..')),
  ...(before === '' ? {} : { 'halting before': built(before) }),
  pi: ({ url, home }) => {
    write(join(home, '.pi/agent/models.json'), JSON.stringify({ providers: { anthropic: { baseUrl: url } } }))
    return {
      package: '@earendil-works/pi-coding-agent',
      // It asks for Node.js 22.19.
      command: [node, join(peers, '.bin/pi'), '--provider', 'anthropic', '--model', 'claude-sonnet-4-5'],
      shell: 'bash',
      env: { ANTHROPIC_API_KEY: 'k', PI_OFFLINE: '1' },
    }
  },
}

heading('Interactive terminal programs')
const folder = mkdtempSync(join(tmpdir(), 'halting-interactive-'))
const service = fork(join(here, 'lib/stream-service.mjs'))
try {
  const { port } = await nextMessage()
  const measured = []
  for (const [name, of] of Object.entries(programs)) {
    const home = join(folder, name)
    mkdirSync(join(home, 'work'), { recursive: true })
    const program = of({ url: `http://127.0.0.1:${port}`, home })
    if (program.package === undefined || existsSync(join(peers, program.package))) measured.push({ name, program: { ...program, home }, samples: [] })
    else console.log(`Not measured: ${name} is not installed.\n`)
  }
  // The first run is not counted: it fills the caches for later ones.
  for (let round = 0; round <= repeats; round++)
    for (const { program, samples } of measured) {
      // Its code is stored two seconds after its start.
      const sample = await play(program, 0, round === 0 ? 3_000 : 1_000)
      if (round > 0) samples.push(sample)
    }
  const rows = []
  for (const { name, program, samples } of measured)
    rows.push(rowOf(name, program, samples, isStartOnly ? {} : await play(program, lines)))
  const head = ['median', 'start to a key seen, ms', 'CPU till then, ms', 'RSS at the prompt, MB', 'RSS after the reply, MB']
  const more = ['CPU a token, ms', `after ${lines} lines`, 'bytes a token', `after ${lines} lines`, 'key seen p95, ms', `after ${lines} lines`, 'while a command writes 10 MB']
  console.log(table(isStartOnly ? head.slice(0, 4) : [...head, ...more], rows))
} finally {
  service.kill()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

function rowOf(name, { package: of }, samples, after) {
  const middle = (key) => median(samples.map((sample) => sample[key]))
  const label = of === undefined ? name : `${name} ${JSON.parse(readFileSync(join(peers, of, 'package.json'), 'utf8')).version}`
  return [
    label,
    ms(middle('startMs')),
    ms(middle('startCpuMs')),
    middle('rssMb').toFixed(0),
    ...(isStartOnly ? [] : replyColumns(middle, after)),
  ]
}

function replyColumns(middle, after) {
  return [
    middle('rssAfterMb').toFixed(0),
    ...['cpuMs', 'bytes', 'echoMs'].flatMap((key) => [ms(middle(key)), ms(after[key])]),
    ms(middle('floodMs')),
  ]
}

/** One process in a terminal of 100 columns and 30 rows: its start, and then, after a reply of this many lines, a reply that streams while keys are typed. */
async function play({ command, shell, env, home }, linesBefore, pauseMs = 1_000) {
  const began = performance.now()
  const quoted = command.map((part) => `'${part}'`).join(' ')
  const terminal = spawn('script', ['-qefc', `stty rows 30 cols 100; exec ${quoted}`, '/dev/null'], {
    cwd: join(home, 'work'),
    env: { PATH: process.env.PATH, HOME: home, TERM: 'xterm-256color', ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  })
  const screen = { text: '', bytes: 0 }
  const listeners = new Set()
  terminal.stdout.on('data', (data) => {
    screen.text = (screen.text + data).slice(-200_000)
    screen.bytes += data.length
    // The program asks for the terminal's identity, as it would ask a real one.
    if (String(data).includes('\u001B[c')) terminal.stdin.write('\u001B[?62;22c')
    for (const listener of listeners) listener()
  })
  const timer = setTimeout(() => process.kill(-terminal.pid, 'SIGKILL'), limitMs)
  const sees = (text) =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${JSON.stringify(text)} was not seen, but ${JSON.stringify(screen.text.slice(-2_000))}`)), limitMs / 2)
      const look = () => {
        if (!screen.text.includes(text)) return
        clearTimeout(late)
        listeners.delete(look)
        resolve()
      }
      listeners.add(look)
      look()
    })
  try {
    // Raw mode is on when this arrives: the program itself echoes typed keys.
    await sees('\u001B[?2004h')
    terminal.stdin.write('Q')
    await sees('Q')
    const startMs = performance.now() - began
    const pid = descendant(terminal.pid)
    const startCpuMs = cpuOf(pid)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    const rssMb = rssOf(pid)
    if (isStartOnly) return { startMs, startCpuMs, rssMb }
    if (linesBefore > 0) await reply({ lines: linesBefore, tokens: 0 }, '')
    const before = { cpu: cpuOf(pid), bytes: screen.bytes }
    const echoes = await reply({ lines: 0, tokens }, keys)
    const floodMs = p95(await reply({ call: { name: shell, input: { command: flood } } }, otherKeys))
    return {
      startMs,
      startCpuMs,
      rssMb,
      rssAfterMb: rssOf(pid),
      cpuMs: (cpuOf(pid) - before.cpu) / tokens,
      bytes: (screen.bytes - before.bytes) / tokens,
      echoMs: p95(echoes),
      floodMs,
    }
  } finally {
    clearTimeout(timer)
    try {
      process.kill(-terminal.pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }

  /** Requests a reply, and types while it streams. Returns how long each key took to be visible. */
  async function reply(plan, keys) {
    service.send(plan)
    await nextMessage()
    screen.text = ''
    terminal.stdin.write('go')
    await sees('go')
    const begins = nextMessage()
    terminal.stdin.write('\r')
    await begins
    const echoes = []
    for (const key of keys) {
      const at = performance.now()
      terminal.stdin.write(key)
      await sees(key)
      echoes.push(performance.now() - at)
      await new Promise((resolve) => setTimeout(resolve, 40))
    }
    await sees('EndOfReply')
    await new Promise((resolve) => setTimeout(resolve, 300))
    return echoes
  }
}

function p95(values) {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? 0
}

/** The program itself: `script` starts a shell, which replaces itself by the program. */
function descendant(pid) {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
  return Number(children[0])
}

function parentOf(pid) {
  try {
    return Number(fieldsOf(pid)[1])
  } catch {
    return undefined
  }
}

/** After the name, which may contain spaces. */
function fieldsOf(pid) {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')
}

/** CPU milliseconds of the program, and of the system for it. */
function cpuOf(pid) {
  const fields = fieldsOf(pid)
  return (Number(fields[11]) + Number(fields[12])) / ticksPerMs
}

function rssOf(pid) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
}

function write(path, text) {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
}

function nextMessage() {
  return new Promise((resolve) => service.once('message', resolve))
}
