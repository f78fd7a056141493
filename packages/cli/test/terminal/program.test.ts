// Holds rules of docs/spec: R-TERM-62, R-TERM-74, R-EFRONT-1 and R-EFRONT-3b: the program itself in a real terminal of tmux. Without tmux these tests
// are skipped.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readJournal, sessionFile } from '@halting/journal'
import { spansOf, treesOf } from '../support/otlp-forms.ts'
import { asRecorded, treeOfRecord } from '../support/otlp-of-record.ts'
import { installCollector } from '../support/otlp.ts'
import { allMeans } from '../../../policy/test/confine/support.ts'
import { call, programPath } from '../support/program.ts'

const collector = installCollector()
const hasTmux = spawnSync('tmux', ['-V']).status === 0
const canConfine = allMeans.some((means) => means.kind === 'bubblewrap' && means.hasOwnProc)

interface TerminalRun {
  readonly cwd: string
  readonly home: string
}

interface Window {
  keys(...keys: readonly string[]): void
  text(text: string): void
  screen(how?: 'colours'): string
  waitFor(text: string | RegExp): Promise<void>
  close(): void
}

function place(): TerminalRun {
  const [cwd, home] = [mkdtempSync(join(tmpdir(), 'halting-pty-')), mkdtempSync(join(tmpdir(), 'halting-pty-home-'))]
  onTestFinished(() => [cwd, home].forEach((path) => rmSync(path, { recursive: true, force: true })))
  writeFileSync(
    join(home, 'script.json'),
    JSON.stringify({
      replies: [{ content: 'First.' }, { content: 'Second.' }, { content: 'Third.', delay_ms: 60_000 }],
    }),
  )
  return { cwd, home }
}

let windows = 0

/** A shell in a terminal that starts the program. */
function start({ cwd, home }: TerminalRun, args: string, variables = ''): Window {
  const socket = `halting-test-${process.pid}-${++windows}`
  const tmux = (...words: readonly string[]): string =>
    execFileSync('tmux', ['-u', '-L', socket, '-f', '/dev/null', ...words], {
      encoding: 'utf8',
      env: { ...process.env, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' },
    })
  const program = `${variables} ${process.execPath} ${programPath()} --script ${home}/script.json ${args}`
  const shell = `trap : INT HUP; echo $$; ${program}; code=$?; echo $code > ${home}/code; echo "[exit $code]"; stty -a | grep -o -e '-\\?icanon' -e '-\\?echo '; exec sleep 600`
  const env = ['env', '-i', `HOME=${home}`, `PATH=${process.env['PATH']}`, 'TERM=screen', 'LANG=C.UTF-8']
  tmux('new-session', '-d', '-s', 't', '-x', '80', '-y', '24', '-c', cwd, ...env, 'sh', '-c', shell)
  onTestFinished(() => void spawnSync('tmux', ['-L', socket, 'kill-server']))
  const screen = (how?: 'colours'): string =>
    tmux('capture-pane', '-p', ...(how === 'colours' ? ['-e'] : []), '-S', '-', '-t', 't')
  return {
    keys: (...keys) => void tmux('send-keys', '-t', 't', ...keys),
    text: (text) => void tmux('send-keys', '-t', 't', '-l', text),
    screen,
    close: () => void tmux('kill-server'),
    async waitFor(text) {
      const deadline = performance.now() + 20_000
      for (;;) {
        const shown = screen()
        if (typeof text === 'string' ? shown.includes(text) : text.test(shown)) return
        if (performance.now() > deadline) throw new Error(`${String(text)} is not there. There is:\n${shown}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
  }
}

describe.skipIf(!hasTmux)('the program in a terminal', () => {
  test('shows a statusLine command in colour, and ends its processes (R-LIM-43)', async () => {
    const where = place()
    const [slow, pid] = [join(where.home, 'slow'), join(where.home, 'pid')]
    const command = `[ -e ${slow} ] && { echo $$ > ${pid}; sleep 60 & wait; }; printf '\\033[35mmine\\033[0m, in %s\\n' "$PWD"`
    mkdirSync(join(where.home, '.halting'))
    writeFileSync(
      join(where.home, '.halting', 'settings.json'),
      JSON.stringify({ statusLine: { type: 'command', command, padding: 1, refreshInterval: 1 } }),
    )
    const window = start(where, '')
    await window.waitFor(`\n  mine, in ${where.cwd}\n asks before changes · `)
    expect(window.screen('colours')).toContain('\u001B[35mmine\u001B[39m')
    writeFileSync(slow, '')
    while (!existsSync(pid)) await new Promise((resolve) => setTimeout(resolve, 50))
    window.text('/quit')
    window.keys('Enter')
    await window.waitFor('[exit 0]')
    // An ended process stays in the list until its new parent has reaped it.
    const isAnyAlive = (): boolean =>
      spawnSync('pgrep', ['-r', 'D,R,S,T', '-g', readFileSync(pid, 'utf8').trim()]).status === 0
    for (let looks = 0; looks < 100 && isAnyAlive(); looks++) await new Promise((resolve) => setTimeout(resolve, 50))
    expect(isAnyAlive()).toBe(false)
  })

  test('limits a run to $10 without showing it, and asks before exceeding it (R-LIM-5, R-LIM-7, R-LIM-12)', async () => {
    const where = place()
    const window = start(where, '--model claude-sonnet-4-5')
    await window.waitFor('0 turns · 0:00')
    expect(window.screen()).not.toContain('next stop')
    window.text('/limits')
    window.keys('Enter')
    await window.waitFor(/run-usd +\$0\.0000 of \$10\.00/)
    window.text('/limits run-usd 0.02')
    window.keys('Enter')
    await window.waitFor('(before: $10.00)')
    window.text('hello')
    window.keys('Enter')
    await window.waitFor(/■ Stopped: the dollar limit of the run is reached\. .*the next\s+request could cost/)
    await window.waitFor('Enter raises the limit to $')
    // An empty line so soon after an ending counts as unintended.
    await new Promise((resolve) => setTimeout(resolve, 600))
    window.keys('Enter')
    await window.waitFor('First.')
    await window.waitFor('✓ done')
  })

  test.skipIf(!canConfine)(
    'runs commands without asking after Shift+Tab accepts edits, as /permissions says (spec R-EFRONT-1, R-EFRONT-3b)',
    async () => {
      const where = place()
      const command = `perl -e 'open F, ">", "made"; print "it ran"'`
      const reply = { content: [call('Bash', { command })] }
      const replies = [reply, { content: 'First.' }, reply, { content: 'Second.' }]
      writeFileSync(join(where.home, 'script.json'), JSON.stringify({ replies }))
      const window = start(where, '')
      await window.waitFor('0 turns · 0:00')
      window.text('go')
      window.keys('Enter')
      await window.waitFor('Run this command?')
      // A key so soon after a question counts as unintended.
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      window.text('n')
      await window.waitFor('First.')
      expect(existsSync(join(where.cwd, 'made'))).toBe(false)
      window.keys('BTab')
      await window.waitFor(' accepts edits ·')
      window.text('/permissions')
      window.keys('Enter')
      await window.waitFor(/In acceptEdits, commands without a rule run confined to the workspace by\s+bubblewrap\./)
      window.text('go on')
      window.keys('Enter')
      await window.waitFor('Second.')
      expect(existsSync(join(where.cwd, 'made'))).toBe(true)
      expect(window.screen().split('Run this command?')).toHaveLength(1)
    },
  )

  test('shows a standing budget once half of it is used, by whichever process (R-LIM-12)', async () => {
    const where = place()
    const reply = { content: 'First.', usage: { input_tokens: 10, output_tokens: 3_500 } }
    writeFileSync(join(where.home, 'script.json'), JSON.stringify({ replies: [reply, reply] }))
    mkdirSync(join(where.home, '.halting'))
    writeFileSync(
      join(where.home, '.halting', 'settings.json'),
      JSON.stringify({ budgets: [{ per: 'day', usd: 0.2 }] }),
    )
    const window = start(where, '--model claude-sonnet-4-5')
    await window.waitFor('0 turns · 0:00')
    window.text('hello')
    window.keys('Enter')
    await window.waitFor('✓ done')
    window.text('more')
    window.keys('Enter')
    await window.waitFor(/\$0\.\d\d of \$\S+ a day · /)
    const next = start(where, '--model claude-sonnet-4-5')
    await next.waitFor(/0 turns · \$0\.\d\d of \$\S+ a day/)
    expect(next.screen()).not.toContain('of $10.00')
  })

  test('exits with a resume hint, code 0 and a usable shell; --resume continues', async () => {
    const where = place()
    const first = start(where, '"a question"')
    await first.waitFor('First.')
    first.text('/quit')
    first.keys('Enter')
    await first.waitFor(/halting --resume [\w-]{36}/)
    await first.waitFor(/\[exit 0\]\s+icanon\s+echo/)
    const [, id = ''] = /--resume ([\w-]{36})/.exec(first.screen()) ?? []
    const second = start(where, `--resume ${id}`)
    await second.waitFor('First.')
    second.text('more')
    second.keys('Enter')
    await second.waitFor(/> more\s+First\./)
    second.keys('C-d')
    await second.waitFor(`halting --resume ${id}`)
    expect(second.screen()).toContain('✓ done')
  })

  test('asks about a mistyped command: a prompt, or nothing, also on Ctrl+C (spec R-WORD-3)', async () => {
    const window = start(place(), 'docter')
    await window.waitFor('Run halting doctor (c), send it as a prompt (p), or quit (Enter)?')
    window.keys('p', 'Enter')
    await window.waitFor(/> docter\s+First\./)
    window.text('exit')
    window.keys('Enter')
    await window.waitFor('[exit 0]')
    const left = start(place(), 'docter')
    await left.waitFor('[c/p/Q]')
    left.keys('C-c')
    await left.waitFor('[exit 130]')
    expect(left.screen()).not.toContain('docter\n>')
  })

  test('sends a collector each run as recorded', async () => {
    const where = place()
    const window = start(where, '"a question"', `OTEL_EXPORTER_OTLP_ENDPOINT=${collector.url}`)
    await window.waitFor('First.')
    window.text('more')
    window.keys('Enter')
    await window.waitFor('Second.')
    window.text('/quit')
    window.keys('Enter')
    await window.waitFor(/\[exit 0\]/)
    const [, sessionId = ''] = /--resume ([\w-]{36})/.exec(window.screen()) ?? []
    const { runs } = await readJournal(sessionFile({ ...where, sessionId, env: {} }))
    expect(treesOf(spansOf(collector.received)).map(asRecorded)).toEqual(runs.map((run) => treeOfRecord(run)))
  })

  test('uses the saved theme, also with NO_COLOR; --theme overrides it', async () => {
    const where = place()
    mkdirSync(join(where.home, '.halting'))
    writeFileSync(join(where.home, '.halting/settings.json'), '{"theme":"dark"}')
    const colours = (args: string, before: string): Promise<boolean> => {
      const window = start(where, `${args} "a question"`, before)
      return window.waitFor('First.').then(() => window.screen('colours').includes('\u001B[2m'))
    }
    expect(await colours('', 'NO_COLOR=1')).toBe(true)
    expect(await colours('--theme none', '')).toBe(false)
  })

  test('leaves a complete session and a usable shell after SIGTERM during a run', async () => {
    const where = place()
    writeFileSync(
      join(where.home, 'script.json'),
      JSON.stringify({ replies: [{ content: 'Slow.', delay_ms: 60_000 }] }),
    )
    const window = start(where, '"a question"')
    await window.waitFor('Esc stop')
    const [, shell = ''] = /^(\d+)$/m.exec(window.screen()) ?? []
    const [child = ''] = execFileSync('pgrep', ['-P', shell], { encoding: 'utf8' }).trim().split('\n')
    process.kill(Number(child), 'SIGTERM')
    await window.waitFor(/\[exit 143\]\s+icanon\s+echo/)
    const [, id = ''] = /--resume ([\w-]{36})/.exec(window.screen()) ?? []
    const output = execFileSync(process.execPath, [programPath(), 'sessions', 'show', id], {
      cwd: where.cwd,
      env: { HOME: where.home, PATH: process.env['PATH'] },
      encoding: 'utf8',
    })
    expect(output).toMatch(/aborted_streaming|terminated|user_requested/)
  })

  test('ends its run and leaves nothing when its window closes during the run', async () => {
    const where = place()
    writeFileSync(
      join(where.home, 'script.json'),
      JSON.stringify({ replies: [{ content: [{ type: 'tool_use', name: 'Bash', input: { command: 'sleep 60' } }] }] }),
    )
    const window = start(where, '"a question"')
    await window.waitFor('Bash sleep 60')
    const [, shell = ''] = /^(\d+)$/m.exec(window.screen()) ?? []
    const [child = ''] = execFileSync('pgrep', ['-P', shell], { encoding: 'utf8' }).trim().split('\n')
    window.close()
    // The kernel and the shell both send the signal, and nothing can be written any more.
    const deadline = performance.now() + 20_000
    while (spawnSync('kill', ['-0', child]).status === 0) {
      if (performance.now() > deadline) throw new Error('It goes on without a window.')
      spawnSync('kill', ['-HUP', child])
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const output = execFileSync(process.execPath, [programPath(), 'why'], {
      cwd: where.cwd,
      env: { HOME: where.home, PATH: process.env['PATH'] },
      encoding: 'utf8',
    })
    expect(output).toContain('aborted_')
  })

  test('exits quietly when its terminal is gone, even without a signal', async () => {
    const where = place()
    const replies = [{ content: 'Slow.', delay_ms: 60_000 }]
    writeFileSync(join(where.home, 'script.json'), JSON.stringify({ replies }))
    const window = start(where, '"a question" 2> $HOME/errors')
    await window.waitFor('Esc stop')
    // The shell receives the signal, and does not forward it.
    window.close()
    const code = join(where.home, 'code')
    const deadline = performance.now() + 20_000
    while (!existsSync(code) || readFileSync(code, 'utf8') === '') {
      if (performance.now() > deadline) throw new Error('It goes on without a terminal.')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(readFileSync(code, 'utf8').trim()).toBe('129')
    expect(readFileSync(join(where.home, 'errors'), 'utf8')).not.toMatch(/Assertion|abort|at .*node:/)
    const output = execFileSync(process.execPath, [programPath(), 'why'], {
      cwd: where.cwd,
      env: { HOME: where.home, PATH: process.env['PATH'] },
      encoding: 'utf8',
    })
    expect(output).toMatch(/user_requested|aborted_streaming/)
  })

  test('asks about an untrusted folder before reading it, and remembers a yes', async () => {
    const where = place()
    mkdirSync(join(where.cwd, '.claude'))
    const settings = { hooks: { Stop: [{ hooks: [{ type: 'command', command: 'echo hooked' }] }] } }
    writeFileSync(join(where.cwd, '.claude/settings.json'), JSON.stringify(settings))
    const no = start(where, '')
    await no.waitFor('hooks  Stop: echo hooked')
    no.text('n')
    no.keys('Enter')
    await no.waitFor('is not trusted: the settings liste')
    await no.waitFor('? keys')
    no.keys('C-d')
    const yes = start(where, '')
    await yes.waitFor('Trust this folder')
    yes.text('y')
    yes.keys('Enter')
    await yes.waitFor('? keys')
    yes.text('/hooks')
    yes.keys('Enter')
    await yes.waitFor('echo hooked')
    yes.keys('C-d')
    const again = start(where, '')
    await again.waitFor('? keys')
    expect(again.screen()).not.toContain('Trust this folder')
    expect(readFileSync(join(where.home, '.halting/trust.json'), 'utf8')).toContain('"trusted"')
  })

  test('quits on Ctrl+C: once for the text, twice for the program', async () => {
    const where = place()
    const window = start(where, '')
    await window.waitFor('? keys')
    window.text('half a prompt')
    await window.waitFor('> half a prompt')
    window.keys('C-l')
    await window.waitFor('> half a prompt')
    window.keys('C-c')
    window.keys('C-c')
    window.keys('C-c')
    await window.waitFor('[exit 0]')
    expect(window.screen()).toMatch(/icanon\s+echo/)
  })
})
