// R-TERM-5: a shell is usable after the program, however it ends: in a terminal of the system (needs script of util-linux), and in tmux.
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

/** It has the terminal until it is told how to end. */
const program = `
  import { writeFileSync } from 'node:fs'
  import { createScreen } from './screen/screen.ts'
  import { processTerminal } from './screen/process-terminal.ts'
  const [how, told] = process.argv.slice(2)
  const asked = how === 'asked' ? { onSignal: (signal) => { screen.print({ render: () => ['bye, ' + signal] }); void screen.stop() } } : {}
  const screen = createScreen(processTerminal(process.stdin, process.stdout), asked)
  const keys = []
  screen.setLive([{ render: () => ['live', 'keys ' + keys.join(' ')] }])
  screen.onKey((key) => {
    if (key === '\\u001A') screen.suspend()
    else if (key === 'c') throw new Error('it broke')
    else if (key === 'r') void Promise.reject(new Error('nobody looked'))
    else if (key === 'x') process.exit(7)
    else if (key === 'q') void screen.stop()
    else keys.push(key)
    return true
  })
  screen.start()
  screen.print({ render: () => ['printed'] })
  setTimeout(() => writeFileSync(told, String(process.pid)), 300)
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

/** Runs it in a terminal of its own, ends it, and tells what the terminal is like then. */
async function ended(name: string, end: (pid: number, type: (keys: string) => void) => void, how = 'alone') {
  const told = join(folder, `${name}.pid`)
  const command = `${process.execPath} ${path} ${how} ${told}; echo "code $?"; timeout 0.3 cat | sed 's/^/left: /'; stty -a`
  const child = spawn('script', ['-qec', command, '/dev/null'], { env: { ...process.env, TERM: 'xterm-256color' } })
  const terminal = virtualTerminal({ columns: 80, rows: 24 })
  let output = ''
  child.stdout.on('data', (data: Buffer) => {
    output += String(data)
    terminal.write(String(data))
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  await until(
    () => existsSync(told) && readFileSync(told, 'utf8') !== '',
    () => output,
  )
  end(Number(readFileSync(told, 'utf8')), (keys) => child.stdin.write(keys))
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
    const { terminal, text } = await ended(name, end)
    expect(text).toMatch(says)
    expect(text).toMatch(/^printed\n/)
    expect(text).not.toMatch(/^live/m)
    expect(terminal.modes).toEqual({ bracketedPaste: false, focus: false, wrap: true, cursor: true })
    // The terminal's driver takes lines again, and shows what is typed.
    expect(text).toMatch(/[ ;]icanon/)
    expect(text).toMatch(/[ ;]echo[ ;]/)
    // What was typed ahead for the program is not for the shell.
    expect(text).not.toContain('left: ls')
  },
)

test
  .skipIf(!hasScript)
  .concurrent('a signal that the program wants to hear is told to it once (needs script)', async () => {
    const { text, terminal } = await ended('asked', (pid) => process.kill(pid, 'SIGTERM'), 'asked')
    expect(text).toMatch(/printed\nbye, SIGTERM\ncode 0/)
    expect(terminal.modes.bracketedPaste).toBe(false)
  })

test
  .skipIf(!hasScript)
  .concurrent('a stop that does not come, as nobody could end it, costs nothing (needs script)', async () => {
    const { text } = await ended('no-shell', (pid, type) => {
      process.kill(pid, 'SIGTSTP')
      setTimeout(() => type('q'), 500)
    })
    expect(text).toMatch(/code 0/)
  })

test.skipIf(!hasTmux).concurrent('stops at Ctrl+Z, and goes on by fg, in tmux (needs tmux)', async () => {
  const socket = `halting-test-${process.pid}`
  const tmux = (...args: string[]): string =>
    execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { encoding: 'utf8' })
  const shown = (): string => tmux('capture-pane', '-p', '-t', 'it')
  const sees = (text: RegExp): Promise<void> => until(() => text.test(shown()), shown)
  tmux('new-session', '-d', '-s', 'it', '-x', '80', '-y', '24', 'env PS1="ready> " bash --norc --noprofile -i')
  try {
    await sees(/ready>/)
    tmux('send-keys', '-t', 'it', `${process.execPath} ${path} alone ${join(folder, 'tmux.pid')}`, 'Enter')
    await sees(/live/)
    tmux('send-keys', '-t', 'it', 'a')
    await sees(/keys a/)
    tmux('send-keys', '-t', 'it', 'C-z')
    await sees(/Stopped/)
    expect(shown()).not.toMatch(/^live/m)
    tmux('send-keys', '-t', 'it', 'echo in the shell', 'Enter')
    await sees(/^in the shell/m)
    tmux('send-keys', '-t', 'it', 'fg', 'Enter')
    await sees(/^live/m)
    tmux('send-keys', '-t', 'it', 'b')
    await sees(/keys a b/)
    // The shell's lines are above, each once.
    expect(shown().match(/^in the shell/gm)).toHaveLength(1)
    tmux('send-keys', '-t', 'it', 'q')
    // What is typed while it leaves is not the shell's.
    await until(() => /ready>\s*$/.test(shown()), shown)
    tmux('send-keys', '-t', 'it', 'echo "and $((1 + 1))"', 'Enter')
    await sees(/^and 2/m)
  } finally {
    tmux('kill-server')
  }
})
