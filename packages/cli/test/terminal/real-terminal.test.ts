// Holds rules of docs/spec: R-TERM-5, R-TERM-5a: a shell is usable after the program, however it ends: in a terminal of the system (needs script of
// util-linux), and in tmux.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { virtualTerminal } from './virtual-terminal.ts'

const hasScript =
  process.platform === 'linux' && spawnSync('script', ['--version']).stdout?.toString().includes('util-linux')
const hasTmux = spawnSync('tmux', ['-V']).status === 0

/** Uses the terminal until the test makes it end. */
const program = `
  import { spawn } from 'node:child_process'
  import { writeFileSync } from 'node:fs'
  import { createScreen } from './screen/screen.ts'
  import { processTerminal } from './screen/process-terminal.ts'
  const [how, pidFile] = process.argv.slice(2)
  const asked = how === 'asked' ? { onSignal: (signal) => { screen.print({ render: () => ['bye, ' + signal] }); setTimeout(() => void screen.stop(), 300) } } : {}
  const screen = createScreen(processTerminal(process.stdin, process.stdout), asked)
  const keys = []
  const wide = (sign) => ({ render: (width) => [sign.repeat(width)] })
  const live = { render: () => ['live', 'keys ' + keys.join(' ')] }
  screen.setLive(how === 'typed' ? [wide('='), { render: (width) => ['live ' + width + '\\u001B_pi:c\\u0007'] }, wide('-')] : [live])
  screen.onKey((key) => {
    if (key === '\\u001A') screen.suspend()
    else if (key === 'e') void screen.lend(() => new Promise((resolve) => {
      const editor = 'trap "echo interrupted" INT; echo in the editor; for try in {1..100}; do read -r line && break; sleep 0.1; done; echo wrote $line'
      spawn('bash', ['-c', editor], { stdio: 'inherit' }).once('close', resolve)
    }))
    else if (key === 'c') throw new Error('it broke')
    else if (key === 'r') void Promise.reject(new Error('nobody looked'))
    else if (key === 'x') process.exit(7)
    else if (key === 'q') void screen.stop()
    else keys.push(key)
    return true
  })
  screen.start()
  screen.print({ render: () => ['printed'] })
  setTimeout(() => writeFileSync(pidFile, String(process.pid)), 300)
  setTimeout(() => process.exit(9), 60_000).unref()
`

const folder = mkdtempSync(join(tmpdir(), 'halting-real-terminal-'))
const path = join(folder, 'program.mjs')

beforeAll(() => {
  buildSync({
    stdin: {
      contents: program,
      resolveDir: fileURLToPath(new URL('../../src/terminal', import.meta.url)),
      loader: 'ts',
    },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: path,
  })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function until(isTrue: () => boolean, what: () => string): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!isTrue()) {
    if (performance.now() > deadline) throw new Error(`It did not come to it: ${what()}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Runs it in a terminal of its own, ends it, and returns the state of the terminal after that. */
async function runAndEnd(name: string, end: (pid: number, type: (keys: string) => void) => void, how = 'alone') {
  const pidFile = join(folder, `${name}.pid`)
  const command = `${process.execPath} ${path} ${how} ${pidFile}; echo "code $?"; timeout 0.3 cat | sed 's/^/left: /'; stty -a`
  const child = spawn('script', ['-qec', command, '/dev/null'], { env: { ...process.env, TERM: 'xterm-256color' } })
  const terminal = virtualTerminal({ columns: 80, rows: 24 })
  let output = ''
  child.stdout.on('data', (data: Buffer) => {
    output += String(data)
    terminal.write(String(data))
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  await until(
    () => existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '',
    () => output,
  )
  end(Number(readFileSync(pidFile, 'utf8')), (keys) => child.stdin.write(keys))
  await exited
  await terminal.arrived()
  return { terminal, output, text: terminal.all().join('\n') }
}

const endings: readonly (readonly [name: string, (pid: number, type: (keys: string) => void) => void, RegExp])[] = [
  ['SIGTERM', (pid) => process.kill(pid, 'SIGTERM'), /code 143/],
  ['SIGHUP', (pid) => process.kill(pid, 'SIGHUP'), /code 129/],
  ['SIGINT', (pid) => process.kill(pid, 'SIGINT'), /code 130/],
  ['crash', (_pid, type) => type('c'), /it broke[^]*code 1/],
  ['rejection', (_pid, type) => type('r'), /nobody looked[^]*code 1/],
  ['exit', (_pid, type) => type('x'), /code 7/],
  ['stop', (_pid, type) => type('qls\r'), /code 0/],
]

test.skipIf(!hasScript).concurrent.each(endings)(
  'after %s the modes are off and the terminal echoes (needs script)',
  async (name, end, says) => {
    const { terminal, text } = await runAndEnd(name, end)
    expect(text).toMatch(says)
    expect(text).toMatch(/^printed\n/)
    expect(text).not.toMatch(/^live/m)
    expect(terminal.modes).toEqual({ bracketedPaste: false, focus: false, wrap: true, cursor: true })
    // The terminal driver reads lines again, and echoes typed text.
    expect(text).toMatch(/[ ;]icanon/)
    expect(text).toMatch(/[ ;]echo[ ;]/)
    // What was typed ahead for the program does not reach the shell.
    expect(text).not.toContain('left: ls')
  },
)

test.skipIf(!hasScript).concurrent('the program handles a signal once (needs script)', async () => {
  const { text, terminal } = await runAndEnd('asked', (pid) => process.kill(pid, 'SIGTERM'), 'asked')
  expect(text).toMatch(/printed\nbye, SIGTERM\ncode 0/)
  expect(terminal.modes.bracketedPaste).toBe(false)
})

test
  .skipIf(!hasScript)
  .concurrent('a closing terminal is reported twice, and there is time to exit (needs script)', async () => {
    const twice = (pid: number): void => {
      process.kill(pid, 'SIGHUP')
      // On a busy machine it may have ended by then.
      setTimeout(() => spawnSync('kill', ['-HUP', String(pid)]), 100)
    }
    const { text } = await runAndEnd('hangup', twice, 'asked')
    expect(text).toMatch(/printed\nbye, SIGHUP\ncode 0/)
  })

test.skipIf(!hasScript).concurrent('a suspension that cannot start has no effect (needs script)', async () => {
  const { text } = await runAndEnd('no-shell', (pid, type) => {
    process.kill(pid, 'SIGTSTP')
    setTimeout(() => type('q'), 500)
  })
  expect(text).toMatch(/code 0/)
})

interface Tmux {
  readonly shown: () => string
  /** Including what scrolled off the screen. */
  readonly all: () => string
  readonly resize: (columns: number, rows: number) => void
  readonly sees: (text: RegExp) => Promise<void>
  readonly send: (...keys: readonly string[]) => void
}

async function inTmux(name: string, work: (tmux: Tmux) => Promise<void>, how = 'alone'): Promise<void> {
  const socket = `halting-test-${name}-${process.pid}`
  const tmux = (...args: readonly string[]): string =>
    execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8' })
  const shown = (): string => tmux('capture-pane', '-p', '-t', 'it')
  const all = (): string => tmux('capture-pane', '-p', '-S', '-', '-t', 'it')
  const resize = (columns: number, rows: number): void =>
    void tmux('resize-window', '-t', 'it', '-x', String(columns), '-y', String(rows))
  const sees = (text: RegExp): Promise<void> => until(() => text.test(shown()), shown)
  const send = (...keys: readonly string[]): void => void tmux('send-keys', '-t', 'it', ...keys)
  tmux('new-session', '-d', '-s', 'it', '-x', '80', '-y', '24', 'env PS1="ready> " bash --norc --noprofile -i')
  try {
    await sees(/ready>/)
    send(`${process.execPath} ${path} ${how} ${join(folder, `${name}.pid`)}`, 'Enter')
    await sees(/^live/m)
    await work({ shown, all, resize, sees, send })
  } finally {
    tmux('kill-server')
  }
}

test.skipIf(!hasTmux).concurrent('Ctrl+Z suspends and fg resumes, in tmux (needs tmux)', async () => {
  await inTmux('stops', async ({ shown, sees, send }) => {
    send('a')
    await sees(/keys a/)
    send('C-z')
    await sees(/Stopped/)
    expect(shown()).not.toMatch(/^live/m)
    send('echo in the shell', 'Enter')
    await sees(/^in the shell/m)
    send('fg', 'Enter')
    await sees(/^live/m)
    send('b')
    await sees(/keys a b/)
    // The lines of the shell are above, each once.
    expect(shown().match(/^in the shell/gm)).toHaveLength(1)
    send('q')
    // What is typed while the program ends does not reach the shell.
    await until(() => /ready>\s*$/.test(shown()), shown)
    send('echo "and $((1 + 1))"', 'Enter')
    await sees(/^and 2/m)
  })
})

test
  .skipIf(!hasTmux)
  .concurrent('Ctrl+C and Ctrl+Z reach the program that borrows the terminal (needs tmux)', async () => {
    await inTmux('lent', async ({ shown, sees, send }) => {
      send('e')
      await sees(/^in the editor/m)
      send('C-c')
      await sees(/interrupted/)
      send('C-z')
      await sees(/Stopped/)
      send('fg', 'Enter')
      await until(() => (shown().match(/fg$/gm) ?? []).length > 0, shown)
      send('my words', 'Enter')
      await sees(/^wrote my words/m)
      await sees(/^live/m)
      // Not before the other process has ended.
      expect(shown()).toMatch(/wrote my words[^]*live/)
      expect(shown()).not.toMatch(/live[^]*wrote my words/)
      send('b')
      await sees(/keys b/)
    })
  })

test.skipIf(!hasTmux).concurrent('repeated narrowing leaves nothing old, in tmux (needs tmux)', async () => {
  await inTmux(
    'narrow',
    async ({ all, resize, sees }) => {
      for (const columns of [70, 60, 45, 33]) {
        resize(columns, 24)
        await sees(new RegExp(`^live ${columns - 1}$`, 'm'))
      }
      expect(all().match(/^live/gm)).toHaveLength(1)
    },
    'typed',
  )
})
