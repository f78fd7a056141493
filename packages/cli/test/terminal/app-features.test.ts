// Editing, notifications, background tasks, plans and a second start of the interactive program. Holds rules of docs/spec: R-TERM-60, R-TERM-65,
// R-TERM-69, R-TERM-73, R-TERM-73a.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { answerDelay, key, startApp } from './app-support.ts'

const bash = (command: string, more: object = {}): unknown => ({
  type: 'tool_use',
  name: 'Bash',
  input: { command, ...more },
})

describe('typing', () => {
  test('Ctrl+J, Shift+Enter, and a backslash before Enter start a new line', async () => {
    const { terminal, type, settled, sessions: opened } = await startApp({ replies: [{ content: 'Read.' }] })
    type('one', '\n', 'two', '\u001B[13;2u', 'three\\', key.enter, 'four')
    await terminal.waitFor(/> one\n {2}two\n {2}three\n {2}four/)
    type(key.enter)
    await settled()
    expect(readFileSync(opened[0]!.session.snapshot.file!, 'utf8')).toContain(String.raw`one\ntwo\nthree\nfour`)
  })

  test('a large paste is shown as a marker, and sent in full', async () => {
    const { terminal, type, settled, sessions: opened } = await startApp({ replies: [{ content: 'Read.' }] })
    const lines = Array.from({ length: 41 }, (_, index) => `line ${index}`)
    type('see ', key.paste(lines.join('\r')), ' end')
    await terminal.waitFor('> see [paste #1 +41 lines] end')
    type(key.enter)
    await settled()
    expect(readFileSync(opened[0]!.session.snapshot.file!, 'utf8')).toContain(String.raw`see line 0\nline 1\n`)
    expect(terminal.all().join('\n')).not.toContain('paste #1')
  })

  test('a large paste that is queued and retracted is complete', async () => {
    const { terminal, type, say, settled } = await startApp({ replies: [{ content: ['x', bash('sleep 20')] }] })
    say('go')
    await terminal.waitFor('sleep 20')
    type(key.paste(Array.from({ length: 12 }, (_, index) => `line ${index}`).join('\n')), key.altEnter)
    await terminal.waitFor('queued 1 after the run: "line 0 line 1')
    type(key.escape)
    await settled()
    expect(terminal.shown()).toContain('line 11')
  })

  test('a pasted image path becomes a mention', async () => {
    const { terminal, type, cwd } = await startApp({ files: { 'my pic.png': 'x' } })
    type('look at ', key.paste(`'${join(cwd, 'my pic.png')}'`))
    await terminal.waitFor('look at @"/')
    expect(terminal.shown().replaceAll(/\n\s*/g, '')).toContain('my pic.png"')
  })

  test('Ctrl+G edits the text in $EDITOR; a failing editor changes nothing', async () => {
    const { terminal, type, home } = await startApp({ env: { EDITOR: 'sh edit.sh' }, files: { 'edit.sh': 'exit 3' } })
    type('my draft', key.ctrl('g'))
    await terminal.waitFor('sh edit.sh failed with exit code 3')
    expect(terminal.shown()).toContain('> my draft')
    const editor = join(home, 'append.sh')
    writeFileSync(editor, '#!/bin/sh\nprintf "%s, edited" "$(cat "$1")" > "$1"\n')
    chmodSync(editor, 0o755)
    const other = await startApp({ env: { VISUAL: editor, EDITOR: 'false' } })
    other.type('my draft', key.ctrl('g'))
    await other.terminal.waitFor('> my draft, edited')
  })

  test('Tab completes a path anywhere', async () => {
    const { terminal, type } = await startApp({ files: { 'src/only-one.ts': 'x' } })
    type('!cat src/on', key.tab)
    await terminal.waitFor('> !cat src/only-one.ts')
    expect(terminal.shown()).toContain('only-one.ts')
  })
})

test('/compact reports that there is nothing to compact, without an error', async () => {
  const { terminal, say, settled } = await startApp({ replies: [{ content: 'Read.' }] })
  say('hello')
  await settled()
  say('/compact')
  await settled()
  expect(terminal.shown()).toContain('There is nothing to compact yet.\n✓ done · 0 turns')
  expect(terminal.shown()).not.toMatch(/error|failed/)
})

test('built-in instructions for the model are hidden; the same text from a hook is shown', async () => {
  const first = await startApp({ files: { 'AGENTS.md': 'Be brief.' } })
  execFileSync('git', ['init', '-q', '-b', 'trunk'], { cwd: first.cwd })
  const says = 'Mine (from halting, not by the user): hooked'
  const hooks = { UserPromptSubmit: [{ hooks: [{ type: 'command', command: `echo "${says}"` }] }] }
  const {
    terminal,
    say,
    settled,
    sessions: opened,
  } = await startApp({
    again: first,
    replies: [{ content: 'Read.' }],
    flags: { settings: JSON.stringify({ hooks }) },
  })
  say('hello')
  await settled()
  const { file = '', ...snapshot } = opened[0]!.session.snapshot
  expect(readFileSync(file, 'utf8')).toContain('No commits yet on trunk')
  expect(terminal.shown()).toContain(`hook: ${says}`)
  expect(terminal.shown()).not.toContain('trunk')
  expect(snapshot.last?.reason).toBe('completed')
  await opened[0]!.session.close()
  const again = await startApp({ again: first, flags: { continue: true } })
  await again.terminal.waitFor(`hook: ${says}`)
  expect(again.terminal.all().join('\n')).not.toContain('trunk')
})

describe('/theme', () => {
  const settingsOf = (home: string): string => join(home, '.halting/settings.json')

  test('saves the theme in the user settings, and keeps the other settings', async () => {
    const { terminal, say, settled, home } = await startApp()
    mkdirSync(join(home, '.halting'), { recursive: true })
    writeFileSync(settingsOf(home), '{\n  "model": "mine"\n}\n')
    say('/theme light')
    await terminal.waitFor('Theme: light (saved as theme in ')
    await settled()
    expect(JSON.parse(readFileSync(settingsOf(home), 'utf8'))).toEqual({ model: 'mine', theme: 'light' })
  })

  test('applies a theme that cannot be saved, and says why', async () => {
    const { terminal, say, settled, home } = await startApp()
    mkdirSync(join(home, '.halting'), { recursive: true })
    writeFileSync(settingsOf(home), 'no JSON')
    say('/theme dark')
    await terminal.waitFor(/does not contain a\s+JSON\s+object/)
    say('hello')
    await settled()
    expect(terminal.written).toContain('\u001B[1m>\u001B[22m hello')
    expect(readFileSync(settingsOf(home), 'utf8')).toBe('no JSON')
  })
})

describe('a person who is looking elsewhere', () => {
  const away = '\u001B[O'
  const bell = '\u0007'

  test('is alerted about a question and the end', async () => {
    const { terminal, type, say, settled } = await startApp({
      replies: [{ content: ['x', bash('touch made')] }, { content: 'Done.' }],
    })
    say('go')
    type(away)
    await terminal.waitFor('y yes')
    expect(terminal.written).toContain(`\u001B]9;halting asks: Bash${bell}`)
    await answerDelay()
    type('y')
    await settled()
    expect(terminal.written).toContain('\u001B]9;halting: completed')
  })

  test('is not alerted while looking', async () => {
    const { terminal, say, settled } = await startApp({ replies: [{ content: 'Done.' }] })
    say('go')
    await settled()
    expect(terminal.written).not.toContain('\u001B]9;')
  })
})

describe('background tasks', () => {
  test('are listed and stopped', async () => {
    const { terminal, type, say, settled } = await startApp({
      replies: [
        { content: ['x', bash('sleep 300', { run_in_background: true, description: 'Naps' })] },
        { content: 'Done.' },
      ],
      flags: { allowedTools: ['Bash'] },
    })
    say('go')
    await settled()
    await terminal.waitFor('1 in the background')
    // The note that the permission outlasts the run is shown once.
    expect(terminal.shown().split('Still running').length - 1).toBe(1)
    type(key.ctrl('b'))
    await terminal.waitFor('Background tasks')
    type(key.enter)
    await terminal.waitFor('Stopped:')
    say('/tasks')
    await terminal.waitFor('There are no background tasks.')
    expect(terminal.shown()).not.toContain('1 in the background')
  })
})

describe('questions of the model', () => {
  test('AskUserQuestion is answered', async () => {
    const asks = {
      type: 'tool_use',
      name: 'AskUserQuestion',
      input: {
        questions: [
          { question: 'Tabs or spaces?', header: 'Style', options: [{ label: 'Tabs' }, { label: 'Spaces' }] },
        ],
      },
    }
    const { terminal, type, say, settled } = await startApp({
      replies: [{ content: ['Let me ask.', asks] }, { expect: 'Spaces', content: 'Spaces it is.' }],
    })
    say('go')
    await terminal.waitFor('Tabs or spaces?')
    await answerDelay()
    type(key.down, key.enter)
    await settled()
    expect(terminal.shown()).toContain('Spaces it is.')
  })

  test('a plan is approved, which ends plan mode', async () => {
    const plan = { type: 'tool_use', name: 'ExitPlanMode', input: { plan: '1. Do it.\n2. Check it.' } }
    const {
      terminal,
      type,
      say,
      settled,
      sessions: opened,
    } = await startApp({
      replies: [{ content: ['A plan.', plan] }, { content: 'Done as planned.' }],
      flags: { permissionMode: 'plan' },
    })
    say('plan it')
    await terminal.waitFor('Check it.')
    await terminal.waitFor(/ y /)
    await answerDelay()
    type('y')
    await settled()
    await terminal.waitFor('Done as planned.')
    expect(opened[0]!.session.snapshot.permissionMode).not.toBe('plan')
  })
})

describe('starting again', () => {
  test('`--continue` shows the conversation and continues it', async () => {
    const first = await startApp({ replies: [{ content: 'The first answer.' }] })
    first.say('first')
    await first.settled()
    first.app.leave(0)
    await first.app.ended
    const {
      terminal,
      say,
      settled,
      sessions: opened,
    } = await startApp({
      again: first,
      flags: { continue: true },
      replies: [{ expect: 'second', content: 'The second answer.' }],
    })
    await terminal.waitFor('The first answer.')
    say('second')
    await settled()
    await terminal.waitFor('The second answer.')
    expect(opened[0]!.session.id).toBe(first.sessions[0]!.session.id)
  })

  test.each([1, 2])('continues after a program that was killed in run %i, and says so', async (killed) => {
    const first = await startApp({
      replies: [
        ...Array.from({ length: killed - 1 }, () => ({ content: 'An answer.' })),
        { content: ['I look.', bash('echo hi')] },
        { content: 'Then.' },
      ],
      flags: { allowedTools: ['Bash'] },
    })
    for (let run = 1; run <= killed; run++) {
      first.say(`question ${run}`)
      await first.settled()
    }
    const { file = '' } = first.sessions[0]?.session.snapshot ?? {}
    first.app.leave(0)
    await first.app.ended
    // The state on disk when the program is killed during a call.
    const lines = readFileSync(file, 'utf8').split('\n')
    const begun = lines.findIndex((line) => line.includes(`run${killed}/tool:`))
    expect(begun).toBeGreaterThan(0)
    writeFileSync(file, `${lines.slice(0, begun + 1).join('\n')}\n`)
    const second = await startApp({ again: first, flags: { continue: true }, replies: [{ content: 'Gone on.' }] })
    await second.terminal.waitFor('■ The last run was cut off')
    expect(second.terminal.shown()).toContain(`> question ${killed}\nI look.`)
    expect(second.terminal.shown()).not.toContain('✓ done')
    await new Promise((resolve) => setTimeout(resolve, 550))
    second.type(key.enter)
    await second.terminal.waitFor('Gone on.')
    await second.settled()
    expect(second.terminal.shown()).toContain('✓ done · 2 turns')
  })

  test('keeps what is typed while the session opens, and sends what is submitted', async () => {
    const { terminal, settled } = await startApp({
      replies: [{ content: 'Answered.' }],
      whileOpening: ['early', key.enter, 'draft'],
    })
    await terminal.waitFor('> early')
    await settled()
    await terminal.waitFor('Answered.')
    expect(terminal.shown()).toContain('> draft')
  })

  test('a command that reads the session waits for it to open', async () => {
    const { terminal } = await startApp({ whileOpening: ['/why', key.enter] })
    // It may already be shown when the test looks for it.
    await terminal.holds(/! (?:The session is still opening|Session \S+ has no runs yet)/)
    expect(terminal.shown()).not.toContain('not kept')
  })

  test('a session that cannot be opened makes no request', async () => {
    const {
      terminal,
      say,
      settled,
      sessions: opened,
    } = await startApp({ replies: [{ content: 'A.' }, { content: 'B.' }] })
    say('one')
    await settled()
    say('/resume 00000000')
    await terminal.waitFor('No conversation found')
    say('two')
    await settled()
    expect([opened.length, terminal.all().join('\n').includes('B.')]).toEqual([1, true])
  })
})

test('the session ends with the program, also during a run', async () => {
  const { app, say, terminal, sessions: opened } = await startApp({ replies: [{ content: ['x', bash('sleep 60')] }] })
  say('go')
  await terminal.waitFor('sleep 60')
  app.leave(0)
  expect(await app.ended).toBe(0)
  expect(opened[0]!.session.snapshot.status).toBe('closed')
  expect(readFileSync(opened[0]!.session.snapshot.file!, 'utf8')).toContain('"type":"end"')
})

test('a small terminal shows the editor and the keys, whatever else there is', async () => {
  const { terminal, say, type, settled } = await startApp({
    replies: [{ content: 'A long answer. '.repeat(60) }],
    rows: 12,
    columns: 33,
  })
  say('go')
  await settled()
  type('typing')
  await terminal.waitFor('> typing')
  expect(terminal.rowsShown().every((row) => row.length <= 33)).toBe(true)
  expect(terminal.shown()).toContain('✓ done')
})
