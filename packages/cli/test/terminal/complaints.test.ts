// Common complaints about terminal agents, each tested with the whole program in a terminal in memory. Rules in docs/spec, together: R-TERM-1, R-TERM-4,
// R-TERM-5, R-TERM-26a,
// R-TERM-32, R-TERM-61, R-TERM-68 to R-TERM-71; the parts have tests of their own.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { key, type RunningApp, startApp } from './app-support.ts'

const call = (name: string, input: object): unknown => ({ type: 'tool_use', name, input })
const bash = (command: string): unknown => call('Bash', { command })
const slow = { content: ['I work.', bash('sleep 20')] }
/** Waits as long as a person who reads the question first. */
const reading = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 450))

/** The panel is the line above the editor. */
function panelLine({ terminal }: RunningApp): string {
  const rows = terminal.rowsShown()
  return rows.find((row) => row.includes('next stop:')) ?? ''
}

describe('known complaints', () => {
  test('flicker and scroll jumps: printed text is never redrawn, even if a reply is higher than the screen', async () => {
    const lines = Array.from({ length: 60 }, (_, at) => `line-${String(at).padStart(2, '0')} of the reply`)
    const { terminal, say, settled } = await startApp({
      rows: 12,
      replies: [{ content: `\`\`\`\n${lines.join('\n')}\n\`\`\``, pace_ms: 1 }],
    })
    const before = terminal.written.length
    say('go')
    await settled()
    const written = terminal.written.slice(before)
    // It is written when it happens, and not again once ten other lines are below it.
    const again = lines
      .slice(0, -10)
      .filter((line, at) => written.lastIndexOf(line) > written.indexOf(lines[at + 10] ?? ''))
    expect(again).toEqual([])
    expect(terminal.all().filter((row) => row.includes('of the reply'))).toHaveLength(lines.length)
    // Only the text from the cursor on is erased, and the cursor never moves above the screen.
    // oxlint-disable no-control-regex -- the test looks for escape sequences
    expect(written).not.toMatch(/\u001B\[(?:[123]J|H|\d+;\d+H)/)
    const up = [...written.matchAll(/\u001B\[(\d+)A/g)].map(([, rows]) => Number(rows))
    // oxlint-enable no-control-regex
    expect(Math.max(0, ...up)).toBeLessThan(12)
  })

  test('destroyed scrollback: it is never erased', async () => {
    const { terminal, say, type, settled } = await startApp({
      rows: 14,
      replies: [{ content: 'One.' }],
    })
    say('first question')
    await settled()
    type(key.ctrl('o'))
    await terminal.waitFor('The conversation')
    type('q')
    terminal.resize(50, 10)
    await terminal.waitFor('> ')
    type(key.ctrl('l'))
    say('/help')
    say('/clear')
    await terminal.waitFor('New session.')
    say('second question')
    await settled()
    const all = terminal.all()
    for (const text of ['> first question', '> second question']) expect(all).toContain(text)
    expect(all.filter((row) => row === 'One.').length).toBeGreaterThan(1)
    expect(terminal.written).not.toContain('\u001B[3J')
    expect(terminal.written).not.toContain('\u001Bc')
    // Only the pager uses the alternate screen, and it was left.
    expect(terminal.written.split('\u001B[?1049h')).toHaveLength(2)
    expect(terminal.isFullScreen).toBe(false)
  })

  test('broken copying: the mouse is never captured', async () => {
    const { terminal, say, type, settled } = await startApp({
      replies: [{ content: ['x', bash('touch a')] }, { content: 'Done.' }],
    })
    say('go')
    await terminal.waitFor('y yes')
    await reading()
    type('y')
    await settled()
    type(key.ctrl('o'))
    await terminal.waitFor('The conversation')
    type('q', '/he')
    await terminal.waitFor('/help')
    // oxlint-disable-next-line no-control-regex -- a sequence is what is looked for
    expect(terminal.written).not.toMatch(/\u001B\[\?(?:9|100[0-35-7]|101[56])h/)
  })

  test('lost text: typed and queued text returns to the editor after an interruption', async () => {
    const app = await startApp({ replies: [slow, { content: 'Yes.' }] })
    const { terminal, say, type, settled } = app
    say('go')
    await terminal.waitFor('sleep 20')
    say('steered')
    type('queued', key.altEnter)
    type('half a draf')
    await terminal.waitFor('after the run: "queued"')
    type(key.escape)
    await terminal.waitFor('[aborted_tools]')
    await settled()
    await terminal.waitFor('> steered')
    expect(terminal.shown()).toMatch(/> steered\n\n? *queued\n\n? *half a draf/)
    type(key.enter)
    await settled()
    const { file } = app.sessions[0]!.session.snapshot
    expect(readFileSync(file ?? '', 'utf8')).toContain('steered\\n\\nqueued\\n\\nhalf a draf')
  })

  describe('ambiguous Esc and Ctrl+C', () => {
    test('Esc stops and never clears; Ctrl+C clears, and stops only on an empty line', async () => {
      const { terminal, say, type, settled } = await startApp({ replies: [slow, slow] })
      say('go')
      await terminal.waitFor('sleep 20')
      type('text', key.ctrl('c'))
      await terminal.waitFor(/^> *$/m)
      expect(terminal.shown()).not.toContain('■')
      type('text', key.escape)
      await terminal.waitFor('[aborted_tools]')
      await settled()
      expect(terminal.shown()).toContain('> text')
      type(key.escape)
      expect(terminal.shown()).toContain('> text')
    })

    test('an Esc that closes a menu or comes from an input method stops no run', async () => {
      const { terminal, say, type } = await startApp({ replies: [slow] })
      say('go')
      await terminal.waitFor('sleep 20')
      type('/lim')
      await terminal.waitFor('Show the limits')
      type(key.escape)
      type('\u001B', '[D')
      await terminal.waitFor('> /lim')
      type(key.ctrl('c'))
      await new Promise((resolve) => setTimeout(resolve, 120))
      await terminal.arrived()
      expect(terminal.shown()).toContain('Esc stop')
      expect(terminal.shown()).not.toContain('■')
    })
  })

  describe('permission fatigue', () => {
    const command = 'LEVEL=2 sh check.sh && touch made; sh check.sh'
    const files = { 'check.sh': 'exit 0\n' }
    const twice = [{ content: ['One.', bash(command)] }, { content: ['Two.', bash(command)] }, { content: 'Done.' }]

    test.each([
      ['in a folder that nobody trusted, for the session', {}, '[in this session ▾ Tab]', '[in this session ▾ Tab]'],
      [
        'in one that is trusted, for the next session too',
        { HALTING_TRUST_FOLDER: '1' },
        '[in this folder ▾ Tab]',
        '✓ done · 3 turns',
      ],
    ])('"always" for a compound command asks once: %s', async (_where, env, place, inTheNext) => {
      const first = await startApp({ files, env, replies: twice, rows: 40, columns: 160 })
      first.say('go')
      await first.terminal.waitFor(place)
      expect(first.terminal.shown()).toMatch(/\? LEVEL=2 sh check\.sh {2}\(/)
      await reading()
      first.type('a')
      await first.settled()
      expect(first.terminal.shown()).toContain('✓ done · 3 turns')
      expect(existsSync(join(first.cwd, 'made'))).toBe(true)
      first.app.leave(0)
      await first.app.ended
      const second = await startApp({ again: first, env, replies: twice, rows: 40, columns: 160 })
      second.say('go')
      await second.terminal.waitFor(inTheNext)
      expect(second.terminal.shown()).toContain(inTheNext)
    })

    test('one key answers all waiting requests of a kind', async () => {
      const look = (description: string): unknown =>
        call('Agent', { description, prompt: 'touch', subagent_type: 'general-purpose' })
      const { terminal, say, type, settled, cwd } = await startApp({
        replies: [
          { content: ['x', look('one'), look('two'), look('three')] },
          ...['a', 'b', 'c'].map((name) => ({ content: ['I touch.', bash(`touch ${name}`)] })),
          { content: 'Touched.', repeat: 3 },
          { content: 'Done.' },
        ],
        rows: 40,
      })
      say('go')
      await terminal.waitFor('A yes to all 3')
      expect(terminal.shown()).toContain('2 more calls waiting: Bash touch')
      await reading()
      type('A')
      await settled()
      expect(['a', 'b', 'c'].map((name) => existsSync(join(cwd, name)))).toEqual([true, true, true])
    })
  })

  test('missing or destructive undo: it previews its changes, and keeps those of others', async () => {
    const { terminal, say, type, settled, cwd } = await startApp({
      rows: 40,
      replies: [
        {
          content: [
            'x',
            call('Write', { file_path: 'mine.txt', content: 'of the model\n' }),
            call('Write', { file_path: 'both.txt', content: 'of the model\n' }),
          ],
        },
        { content: 'Written.' },
      ],
      flags: { permissionMode: 'acceptEdits' },
    })
    say('write them')
    await settled()
    writeFileSync(join(cwd, 'both.txt'), 'of a person\n')
    const openFileRewind = async (): Promise<void> => {
      type(key.escape)
      await terminal.waitFor('Press Esc again to rewind')
      type(key.escape)
      await terminal.waitFor('Rewind to before:')
      type(key.enter)
      await terminal.waitFor('Only the files')
    }
    await openFileRewind()
    expect(terminal.shown()).toMatch(/1 file \+0 −1, 1 file cannot be reverted/)
    type(key.escape)
    await terminal.waitFor('? keys')
    expect(existsSync(join(cwd, 'mine.txt'))).toBe(true)
    await openFileRewind()
    type(key.down, key.enter)
    await terminal.waitFor('Not reverted: ')
    expect(existsSync(join(cwd, 'mine.txt'))).toBe(false)
    expect(readFileSync(join(cwd, 'both.txt'), 'utf8')).toBe('of a person\n')
    await terminal.waitFor('> write them')
  })

  test('misleading meters: they are right after a compaction, and the panel agrees with the ending', async () => {
    const long = 'A long answer. '.repeat(3_000)
    const app = await startApp({
      rows: 30,
      columns: 120,
      script: { model: 'claude-sonnet-5-5', contextWindow: 200_000 },
      replies: [
        ...Array.from({ length: 4 }, () => ({ content: long })),
        { content: 'A short summary.' },
        { content: 'After it.' },
      ],
      flags: { maxBudgetUsd: 5 },
    })
    const { terminal, say, settled } = app
    for (const question of ['one', 'two', 'three', 'four']) {
      say(question)
      await settled()
    }
    const tokens = (): number => app.sessions[0]!.session.snapshot.figures.contextTokens
    const before = tokens()
    expect(before).toBeGreaterThan(30_000)
    say('/compact')
    await settled()
    expect(tokens()).toBeLessThan(before / 2)
    say('five')
    await settled()
    const [, turns, cost] =
      /✓ done · (\d+) turns? · (\$[\d.]+)/.exec(terminal.shown().split('After it.')[1] ?? '') ?? []
    const panel = app.terminal.rowsShown().find((row) => row.includes(' of $5.00'))
    expect(panel).toContain(`${turns} turn`)
    const { sessionUsd, settledUsd } = app.sessions[0]!.session.snapshot.figures
    expect(cost).toBe(`$${settledUsd.toFixed(settledUsd < 0.01 ? 4 : 2)}`)
    expect(panel).toContain(`$${sessionUsd.toFixed(2)} of $5.00`)
  })

  describe('silent or unexplained stops', () => {
    test('an imaginary limit: the ending and the panel show the real ones', async () => {
      const app = await startApp({
        replies: [{ content: 'I have reached my step limit and must stop.' }],
        flags: { maxTurns: 40 },
      })
      app.say('go')
      await app.settled()
      expect(app.terminal.shown()).toContain('✓ done · 1 turn')
      expect(panelLine(app)).toMatch(/turn 1\/40 .* next stop: in 39 turns/)
    })

    test('a stopped loop is reported, and continues if the person wants', async () => {
      const again = { content: ['Again.', bash('echo same')] }
      const { terminal, say, type, settled } = await startApp({
        rows: 60,
        replies: [...Array.from({ length: 10 }, () => again), { content: 'Another way.' }],
        flags: { allowedTools: ['Bash'] },
      })
      say('go')
      await settled()
      expect(terminal.shown()).toMatch(/■ Stopped: the agent made no progress\..*\[no_progress\]/s)
      expect(terminal.shown()).toContain('↵ try another approach')
      await new Promise((resolve) => setTimeout(resolve, 550))
      type(key.enter)
      await settled()
      expect(terminal.shown()).toContain('> Try a different approach.')
    })

    test('"stopped by the user" appears only if the user stopped it', async () => {
      const { terminal, say, type, settled } = await startApp({
        rows: 60,
        replies: [{ error: { status: 400, message: 'no such thing' } }, slow],
      })
      say('go')
      await settled()
      expect(terminal.shown()).toContain('■ Stopped: the model request failed.')
      expect(terminal.shown()).not.toMatch(/interrupted|by the user|you asked/i)
      say('again')
      await terminal.waitFor('sleep 20')
      type(key.escape)
      await settled()
      expect(terminal.shown()).toContain('■ Stopped: interrupted while tools were running.')
    })
  })

  test('unnoticed waiting: a terminal without focus is alerted once for each question and end', async () => {
    const { terminal, say, type, settled } = await startApp({
      replies: [{ content: ['x', bash('touch made')] }, { content: 'Done.' }],
    })
    say('go')
    type('\u001B[O')
    await terminal.waitFor('y yes')
    await reading()
    type('y')
    await settled()
    // oxlint-disable no-control-regex -- sequences are what is looked for
    const notifications = [...terminal.written.matchAll(/\u001B\]9;([^\u0007]*)\u0007/g)].map(([, text]) => text)
    // Also the plain bell, for terminals that know no notifications.
    const bells = terminal.written.replaceAll(/\u001B\][^\u0007]*\u0007/g, '').split('\u0007').length - 1
    // oxlint-enable no-control-regex
    expect(notifications).toEqual(['halting asks: Bash', 'halting: completed'])
    expect(bells).toBe(2)
  })

  test('steering against queueing: both exist, and each message says when it is sent', async () => {
    const { terminal, say, type, settled } = await startApp({
      rows: 40,
      replies: [{ content: ['I work.', bash('sleep 1')] }, { content: 'First end.' }, { content: 'Second end.' }],
      flags: { allowedTools: ['Bash'] },
    })
    say('go')
    await terminal.waitFor('sleep 1')
    say('steer it')
    type('queue it', key.altEnter)
    await terminal.waitFor(/queued 1 for the next turn: "steer it"\n.*queued 1 after the run: "queue it"/)
    await settled()
    expect(terminal.shown()).toMatch(
      /> steer it\n {2}delivered at turn 2\nFirst end\.\n\n> queue it\n {2}delivered at turn 3, when the run would have ended\nSecond end\./,
    )
  })

  test('lost work at a limit: the limit is raised, and the run continues with its counters and record', async () => {
    const look = { content: ['Looking.', bash('echo hi')] }
    const app = await startApp({
      rows: 60,
      replies: [look, look, { content: ['Longer.', bash('sleep 1')] }, { content: 'Done.' }],
      flags: { allowedTools: ['Bash'], maxTurns: 2 },
    })
    const { terminal, say, type, settled } = app
    say('go')
    await settled()
    expect(panelLine(app)).toContain('next stop: in 0 turns')
    await new Promise((resolve) => setTimeout(resolve, 550))
    type(key.enter)
    await terminal.waitFor('sleep 1')
    say('/limits turns 60')
    await terminal.waitFor('From now on: 60 turns (before: 22 turns).')
    await settled()
    expect(terminal.shown()).toContain('↻ continuing run1, with its counters')
    expect(terminal.shown()).toContain('✓ done · 4 turns')
    expect(panelLine(app)).toContain('turn 4/60')
    say('/why')
    await terminal.waitFor('Slowest')
    expect(terminal.shown()).toMatch(/turns .*4 of 60/)
    const records = readFileSync(app.sessions[0]!.session.snapshot.file ?? '', 'utf8')
    expect(records).toContain('"continues":"run1"')
    expect(records).toContain('"control":{"settings":{"limits":{"maxTurns":60}}}')
  })
})
