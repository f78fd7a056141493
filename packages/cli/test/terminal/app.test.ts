// The interactive program in a terminal in memory. Holds rules of docs/spec: R-TERM-60, R-TERM-61, R-TERM-61a, R-TERM-66, R-TERM-66a, R-TERM-67,
// R-TERM-69, R-TERM-70, R-TERM-70a, R-TERM-70b, R-TERM-71, R-TERM-72, R-TERM-73.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { answerDelay, key, startApp } from './app-support.ts'

const bash = (command: string): unknown => ({ type: 'tool_use', name: 'Bash', input: { command } })
const slow = { content: ['I work.', bash('sleep 20')] }

test('answers a prompt, and reports its ending', async () => {
  const { terminal, say, settled } = await startApp({ replies: [{ content: 'Hello.' }], rows: 14, columns: 60 })
  say('hi')
  await settled()
  expect(terminal.shown().replaceAll(/0:0\d/g, '0:00').split('\n')).toEqual([
    '',
    '> hi',
    'Hello.',
    '✓ done · 1 turn · 0:00',
    ' 1 turn · ctx 2 % (compacts at 84) · 0:00 · 3.1k tokens',
    '─'.repeat(59),
    '>',
    '─'.repeat(59),
    ' asks before changes · scripted · ? keys · / commands',
  ])
})

test('`halting "prompt"` starts with the prompt', async () => {
  const { terminal } = await startApp({ replies: [{ content: 'Answered.' }], prompt: 'first' })
  await terminal.waitFor('✓ done')
  expect(terminal.shown()).toContain('> first')
})

describe('during a run', () => {
  test('Enter steers and Alt+Enter queues, and both are shown until they are taken', async () => {
    const { terminal, say, type, settled } = await startApp({
      replies: [{ content: ['One.', bash('sleep 0.4')] }, { content: 'Two.' }, { content: 'Three.' }],
    })
    say('go')
    await terminal.waitFor('sleep 0.4')
    say('look left')
    type('then rest', key.altEnter)
    await terminal.waitFor('queued 1 for the next turn: "look left"')
    await terminal.waitFor('queued 1 after the run: "then rest"')
    await settled()
    const text = terminal.all().join('\n')
    expect(text.indexOf('> look left')).toBeGreaterThan(text.indexOf('One.'))
    expect(text.indexOf('> then rest')).toBeGreaterThan(text.indexOf('Two.'))
    expect(text).not.toContain('queued')
  })

  test('Alt+Up retracts the last queued message into the editor', async () => {
    const { terminal, say, type } = await startApp({ replies: [slow, { content: 'x' }] })
    say('go')
    await terminal.waitFor('sleep 20')
    type('one', key.altEnter, 'two', key.altEnter)
    await terminal.waitFor('"one", "two"')
    type('draft', key.altUp)
    await terminal.waitFor(/> two\n\s*\n\s+draft/)
    expect(terminal.shown()).toContain('queued 1 after the run: "one"')
  })

  test('Esc stops the run: untaken messages return to the editor, before the current text', async () => {
    const { terminal, say, type, settled } = await startApp({ replies: [slow] })
    say('go')
    await terminal.waitFor('sleep 20')
    say('steer')
    type('later', key.altEnter)
    await terminal.waitFor('queued 1 after the run')
    type('half a th', key.escape)
    await terminal.waitFor('■')
    await settled()
    expect(terminal.shown()).toMatch(/> steer\n\s*\n\s+later\n\s*\n\s+half a th/)
    expect(terminal.shown()).not.toContain('queued')
  })

  test('a run that ends keeps the text in the editor', async () => {
    const { terminal, say, type, settled } = await startApp({ replies: [{ content: 'Quick.', delay_ms: 200 }] })
    say('go')
    await terminal.waitFor('Esc stop')
    type('unfinished')
    await settled()
    expect(terminal.shown()).toContain('> unfinished')
    type(' words')
    await terminal.waitFor('> unfinished words')
  })

  test('/limits applies immediately', async () => {
    const { terminal, say } = await startApp({ replies: [slow], flags: { maxTurns: 40 } })
    say('go')
    await terminal.waitFor('sleep 20')
    say('/limits turns 60')
    await terminal.waitFor('From now on: 60 turns (before: 40 turns).')
    await terminal.waitFor('turn 1/60')
    expect(terminal.shown()).toMatch('turn 1/60')
  })
})

describe('at a limit', () => {
  test('Enter raises the limit and continues, with the counters', async () => {
    const { terminal, say, type, settled } = await startApp({
      replies: [{ content: ['One.', bash('true')] }, { content: ['Two.'] }],
      flags: { maxTurns: 1 },
    })
    say('go')
    await terminal.waitFor('[max_turns]')
    await settled()
    type(key.enter)
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(terminal.shown()).not.toContain('Two.')
    type(key.enter)
    await terminal.waitFor('Two.')
    await terminal.waitFor('✓ done')
    expect(terminal.shown()).toContain('turn 2/21')
  })

  test('a failed model is retried, with the counters', async () => {
    let time = 0
    const { terminal, say, type, settled } = await startApp({
      replies: [
        { content: ['One.', bash('true')] },
        { error: { status: 400, message: 'no such thing' } },
        { content: 'Two.' },
      ],
      flags: { maxTurns: 9 },
      now: () => time,
    })
    say('go')
    await terminal.waitFor('[model_error]')
    await terminal.waitFor('↵ try again   y↵ /why')
    await settled()
    time += 1_000
    type(key.enter)
    await terminal.waitFor('Two.')
    await terminal.waitFor('✓ done')
    expect(terminal.all().filter((line) => line.startsWith('> '))).toEqual(['> go'])
    expect(terminal.shown()).toMatch(/turn 3\/9/)
  })

  test('w asks for a final answer, and nothing runs after it, whatever the model wants', async () => {
    const { terminal, say, settled, cwd } = await startApp({
      replies: [
        { content: ['One.', bash('true')] },
        { content: ['Last.', bash('touch made')] },
        { content: 'No more.' },
      ],
      flags: { maxTurns: 1, allowedTools: ['Bash'] },
    })
    say('go')
    await terminal.waitFor('[max_turns]')
    await settled()
    say('w')
    await terminal.waitFor('✓ done')
    await settled()
    expect(terminal.shown()).toContain('Last.')
    expect(terminal.shown()).not.toContain('No more.')
    expect(existsSync(join(cwd, 'made'))).toBe(false)
  })

  test('letters that start a prompt are typed, and do nothing else', async () => {
    const { terminal, say, type, settled } = await startApp({
      replies: [{ content: ['One.', bash('true')] }, { content: ['Two.'] }],
      flags: { maxTurns: 1 },
    })
    say('go')
    await terminal.waitFor('[max_turns]')
    await settled()
    type('why is that')
    await terminal.waitFor('> why is that')
    type(key.ctrl('u'), 'y', key.enter)
    // The report of where time went may fill the screen.
    await terminal.holds('same turns')
    expect(terminal.all().join('\n')).toMatch('same turns')
  })
})

describe('keys', () => {
  test('Ctrl+C clears the text, which ↑ restores; twice on an empty line quits', async () => {
    const { terminal, type, app } = await startApp()
    type('precious', key.ctrl('c'))
    await terminal.waitFor(/>\n/)
    expect(terminal.shown()).not.toContain('precious')
    type(key.up)
    await terminal.waitFor('> precious')
    type(key.ctrl('u'), key.ctrl('c'))
    await terminal.waitFor('Press Ctrl+C again to quit')
    type(key.ctrl('c'))
    expect(await app.ended).toBe(0)
  })

  test('Ctrl+C on an empty line stops a run', async () => {
    const { terminal, say, type } = await startApp({ replies: [slow] })
    say('go')
    await terminal.waitFor('sleep 20')
    type(key.ctrl('c'))
    await terminal.waitFor('■')
    expect(terminal.shown()).toMatch('■')
  })

  test('a key that cleared the text or stopped a run does not start a double press', async () => {
    const { terminal, say, type, settled } = await startApp({ replies: [slow] })
    say('go')
    await terminal.waitFor('sleep 20')
    type('half a th', key.ctrl('c'), key.ctrl('c'))
    // The run has ended, and the program still runs.
    await terminal.waitFor('■')
    await settled()
    expect(terminal.shown()).not.toContain('leaving')
    type(key.ctrl('u'))
    say('/limits')
    await terminal.waitFor('no limit')
  })

  test('Esc after an Esc that stopped a run does not rewind', async () => {
    const { terminal, say, type, settled } = await startApp({ replies: [slow] })
    say('go')
    await terminal.waitFor('sleep 20')
    type(key.escape)
    await terminal.waitFor('■')
    await settled()
    type(key.escape)
    await terminal.waitFor('Press Esc again to rewind')
    expect(terminal.shown()).not.toContain('Rewind to before:')
  })

  test('unsent text is in the history after a signal ends the program', async () => {
    const { terminal, type, app, home } = await startApp()
    type('half a thought')
    await terminal.waitFor('> half a thought')
    app.leave(143)
    expect(await app.ended).toBe(143)
    expect(readFileSync(join(home, '.halting', 'history.jsonl'), 'utf8')).toContain('"half a thought"')
  })

  test('Ctrl+D quits only on an empty line', async () => {
    const { terminal, type, app } = await startApp()
    type('x', key.ctrl('d'))
    await terminal.waitFor('> x')
    type(key.backspace, key.ctrl('d'))
    expect(await app.ended).toBe(0)
  })

  test('Shift+Tab cycles through the safe modes', async () => {
    const { terminal, type } = await startApp()
    for (const mode of ['accepts edits', 'plans only', 'asks before changes']) {
      type(key.shiftTab)
      await terminal.waitFor(` ${mode} ·`)
      expect(terminal.shown()).toMatch(` ${mode} ·`)
    }
  })

  test('? on an empty line lists the keys, as they are assigned', async () => {
    const { terminal, type } = await startApp({ keybindings: { todos: 'f7' }, rows: 50 })
    type('?')
    await terminal.waitFor(/F7\s+Show or hide the todo list/)
    type('what?')
    await terminal.waitFor('> what?')
    expect(terminal.shown()).toMatch('> what?')
  })

  test('Ctrl+T shows and hides the todos', async () => {
    const input = { todos: [{ content: 'the changelog', status: 'pending', activeForm: 'writing' }] }
    const writes = { type: 'tool_use', name: 'TodoWrite', input }
    const { terminal, type, say, settled } = await startApp({ replies: [{ content: [writes] }, { content: 'Done.' }] })
    const countTodo = (): number => terminal.shown().split('☐ the changelog').length - 1
    say('go')
    await settled()
    expect(countTodo()).toBe(1)
    type(key.ctrl('t'))
    await terminal.waitFor(/☐ the changelog[\s\S]*☐ the changelog/)
    type(key.ctrl('t'))
    await settled()
    expect(countTodo()).toBe(1)
  })

  test('Ctrl+T shows the tasks of TaskCreate and TaskUpdate, also in a resumed session', async () => {
    const create = { type: 'tool_use', name: 'TaskCreate', input: { subject: 'the changelog' } }
    const update = { type: 'tool_use', name: 'TaskUpdate', input: { taskId: '1', status: 'in_progress' } }
    const first = await startApp({ replies: [{ content: [create] }, { content: [update] }, { content: 'Done.' }] })
    first.say('go')
    await first.settled()
    first.type(key.ctrl('t'))
    await first.terminal.waitFor(/▸ the changelog[\s\S]*▸ the changelog/)
    first.app.leave(0)
    await first.app.ended
    const { terminal, type } = await startApp({ again: first, flags: { continue: true } })
    await terminal.waitFor('▸ the changelog')
    const countTodo = (): number => terminal.shown().split('▸ the changelog').length - 1
    expect(countTodo()).toBe(1)
    type(key.ctrl('t'))
    await terminal.waitFor(/▸ the changelog[\s\S]*▸ the changelog/)
    expect(countTodo()).toBe(2)
  })

  test('approving plan mode starts it, and changes are denied', async () => {
    const enter = { type: 'tool_use', name: 'EnterPlanMode', input: {} }
    const write = { type: 'tool_use', name: 'Write', input: { file_path: 'a.txt', content: 'x' } }
    const replies = [{ content: [enter] }, { content: [write] }, { content: 'Done.' }]
    const {
      terminal,
      type,
      say,
      settled,
      cwd,
      sessions: opened,
    } = await startApp({
      replies,
      flags: { allowedTools: ['Write'] },
    })
    say('go')
    await terminal.waitFor(/Enter plan mode\?[\s\S]*y yes/)
    await answerDelay()
    type('y')
    await settled()
    expect([opened[0]?.session.snapshot.permissionMode, existsSync(join(cwd, 'a.txt'))]).toEqual(['plan', false])
  })

  test('without todos, a note says so and none are shown', async () => {
    const { terminal, type, say, settled } = await startApp({ replies: [{ content: 'Done.' }] })
    type(key.ctrl('t'))
    await terminal.waitFor('There are no todos.')
    say('/todos')
    say('go')
    await settled()
    expect(terminal.shown()).toMatch(/^! There are no todos\.\n! There are no todos\.\n\n> go\n/)
  })

  test('Ctrl+R finds prompts of earlier sessions', async () => {
    const first = await startApp({ replies: [{ content: 'A.' }, { content: 'B.' }] })
    first.say('fix the lexer')
    await first.settled()
    first.say('now the parser')
    await first.settled()
    first.app.leave(0)
    await first.app.ended
    const { terminal, type } = await startApp({ again: first })
    type('draft', key.ctrl('r'))
    await terminal.waitFor('Earlier prompts:')
    type('lex')
    await terminal.waitFor(/^(?![\s\S]*parser)/)
    type(key.enter)
    await terminal.waitFor('> fix the lexer')
    type(key.ctrl('u'), key.up, key.up)
    await terminal.waitFor(/> (?:now the parser|fix the lexer)/)
    expect(terminal.shown()).toMatch(/> (?:now the parser|fix the lexer)/)
  })

  test('Ctrl+O shows the whole conversation, and closes it', async () => {
    const { terminal, say, type, settled } = await startApp({
      replies: [{ content: ['Look:', bash('seq 1 60')] }, { content: 'End.' }],
    })
    say('go')
    await settled()
    type(key.ctrl('o'))
    await terminal.waitFor('The conversation')
    expect(terminal.isFullScreen).toBe(true)
    type('g')
    await terminal.waitFor('> go')
    type('/', '57', key.enter)
    await terminal.waitFor(/\n\s+57\n/)
    type('q')
    await terminal.waitFor('✓ done')
    expect(terminal.isFullScreen).toBe(false)
    type('typed after')
    await terminal.waitFor('> typed after')
  })

  test('uses the keys of the user file', async () => {
    const { terminal, say, type } = await startApp({ replies: [slow], keybindings: { queue: 'f6' } })
    say('go')
    await terminal.waitFor('F6 queue')
    type('later', '\u001B[17~')
    await terminal.waitFor('queued 1 after the run: "later"')
    expect(terminal.shown()).toMatch('queued 1 after the run: "later"')
  })
})

describe('shell commands', () => {
  test('the output of ! goes to the model with the next message', async () => {
    const { terminal, say, settled } = await startApp({ replies: [{ expect: 'from-the-shell', content: 'Seen.' }] })
    say('!echo from-the-shell')
    await terminal.waitFor('the output of 1 command goes with the next message')
    say('what was that?')
    await settled()
    expect(terminal.shown()).toContain('Seen.')
  })

  test('the output of ! goes with the next message, if its own message returns', async () => {
    const { terminal, say, type, settled } = await startApp({
      replies: [slow, { expect: 'from-the-shell', content: 'Seen.' }],
    })
    say('go')
    await terminal.waitFor('sleep 20')
    say('!echo from-the-shell')
    await terminal.waitFor('the output of 1 command goes with the next message')
    type('and that', key.altEnter)
    await terminal.waitFor('queued 1 after the run: "and that')
    type(key.altUp)
    await terminal.waitFor('the output of 1 command goes with the next message')
    type(key.altEnter)
    await terminal.waitFor('queued 1 after the run: "and that')
    type(key.escape)
    await terminal.waitFor('■')
    await settled()
    await terminal.waitFor('the output of 1 command goes with the next message')
    type(key.enter)
    await terminal.waitFor('Seen.')
    expect(terminal.shown()).not.toContain('goes with the next message')
  })

  test('the output of !! does not', async () => {
    const { terminal, say, settled, sessions: opened } = await startApp({ replies: [{ content: 'Seen.' }] })
    say('!!echo only-for-me')
    await terminal.waitFor(/\n {2}only-for-me/)
    say('hello')
    await settled()
    const kept = readFileSync(opened[0]!.session.snapshot.file!, 'utf8')
    expect([kept.includes('hello'), kept.includes('only-for-me')]).toEqual([true, false])
  })

  test('Esc ends the running command, and the waiting ones return', async () => {
    const { terminal, say, type } = await startApp()
    say('!echo on; sleep 30')
    say('!echo never')
    await terminal.waitFor(/\n {2}on/)
    await terminal.waitFor('then ! echo never')
    type(key.escape)
    await terminal.waitFor('stopped')
    await terminal.waitFor('> !echo never')
    expect(terminal.shown()).toMatch('> !echo never')
  })
})

describe('commands', () => {
  test('an unknown command stays in the editor, with a suggestion', async () => {
    const { terminal, say } = await startApp()
    say('/hepl')
    await terminal.waitFor('Did you mean /help?')
    expect(terminal.shown()).toContain('> /hepl')
  })

  test('commands from files are offered, and sent as their text', async () => {
    const { terminal, type, settled } = await startApp({
      files: { '.halting/commands/greet.md': '---\ndescription: Greets\n---\nSay hello to $ARGUMENTS.' },
      replies: [{ expect: 'Say hello to Ann.', content: 'Hello Ann.' }],
    })
    type('/gre')
    await terminal.waitFor('Greets')
    type(key.escape, 'et Ann', key.enter)
    await settled()
    expect(terminal.shown()).toContain('Hello Ann.')
  })

  test('/clear starts a new session, and /resume returns to the previous one', async () => {
    const {
      terminal,
      say,
      type,
      settled,
      sessions: opened,
    } = await startApp({
      replies: [{ content: 'First answer.' }, { content: 'Second answer.' }],
    })
    say('first question')
    await settled()
    say('/clear')
    await terminal.waitFor('New session. Back to the previous one: /resume')
    expect(opened).toHaveLength(2)
    say('/resume')
    await terminal.waitFor('Resume:')
    type('first', key.enter)
    await terminal.waitFor(`Resumed session ${opened[0]!.session.id}`)
    await terminal.waitFor('First answer.')
    say('go on')
    await settled()
    expect(opened.at(-1)!.session.id).toBe(opened[0]!.session.id)
    expect(terminal.all().join('\n')).toMatch(/> go on\n(?:.*\n)*.*answer\./)
  })

  test('/fork continues in a copy', async () => {
    const {
      terminal,
      say,
      settled,
      sessions: opened,
    } = await startApp({ replies: [{ content: 'A.' }, { content: 'B.' }] })
    say('question')
    await settled()
    say('/fork')
    await terminal.waitFor('Continuing in a copy. Back to the original: /resume')
    expect(opened[1]!.session.id).not.toBe(opened[0]!.session.id)
    say('/resume zzzz')
    await terminal.waitFor('No conversation found')
  })

  test('Esc Esc rewinds to before a message, which returns to the editor', async () => {
    const { terminal, say, type, settled } = await startApp({
      replies: [{ content: 'A one.' }, { content: 'A two.' }, { content: 'A three.' }],
    })
    say('question one')
    await settled()
    say('question two')
    await settled()
    type(key.escape)
    await terminal.waitFor('Press Esc again to rewind')
    type(key.escape)
    await terminal.waitFor('Rewind to before:')
    type(key.enter)
    await terminal.waitFor('Rewound the conversation to before that message')
    await terminal.waitFor('> question two')
    type(key.enter)
    await settled()
    expect(terminal.shown()).toContain('A three.')
  })

  test('/copy copies the last answer, or a code block of it', async () => {
    const { terminal, say, settled } = await startApp({ replies: [{ content: 'Do:\n\n```sh\nls -l\n```\nEnd.' }] })
    say('how?')
    await settled()
    say('/copy 1')
    await terminal.waitFor('Copied 6 characters')
    expect(terminal.written).toContain(`\u001B]52;c;${Buffer.from('ls -l\n').toString('base64')}`)
    say('/copy 7')
    await terminal.waitFor('code blocks 1 to 1')
  })

  test('/copy copies only visible text: no controls, directions or overwritten text', async () => {
    const hostile = 'ls\u001B[201~evil\u202E\n\tone\u0007\u009B31m\nrm -rf x\rls\r\n'
    const { terminal, say, settled } = await startApp({ replies: [{ content: `\`\`\`sh\n${hostile}\`\`\`` }] })
    say('how?')
    await settled()
    say('/copy 1')
    await terminal.waitFor('Copied ')
    const [, copied = ''] = /\]52;c;([\w+/=]*)/.exec(terminal.written) ?? []
    expect(Buffer.from(copied, 'base64').toString()).toBe('lsevil\n\tone\nls\n')
  })

  test('/export writes the session to a file', async () => {
    const { terminal, say, settled, cwd } = await startApp({ replies: [{ content: 'An answer.' }] })
    say('a question')
    await settled()
    say('/export talk.md')
    await terminal.waitFor('wrote talk.md')
    expect(readFileSync(join(cwd, 'talk.md'), 'utf8')).toContain('An answer.')
    say('/export talk.exe')
    await terminal.waitFor('The file name must end in .md, .html or .jsonl')
    expect(existsSync(join(cwd, 'talk.exe'))).toBe(false)
  })

  test.each([60, 80])('/help at %i columns cuts nothing', async (columns) => {
    const { terminal, say } = await startApp({ rows: 140, columns })
    say('/help')
    await terminal.waitFor('@PATH#20-45')
    const shown = terminal.shown().split('Commands')[1] ?? ''
    expect(shown.replaceAll(/\s+/g, ' ')).toContain('twice on an empty line: rewind')
    expect(shown).not.toContain('…')
  })
  test.each([
    ['/help', /\/retry\s+Retry now/],
    ['/until', /No goal is set\./],
    ['/loop', /There is no loop\./],
    ['/retry', /This session is not waiting for a service\./],
    ['/limits tries 3', /There is no goal, so there are no tries to limit/],
    ['/limits', /turns\s+0/],
    ['/limits frogs', /\/limits turns 60/],
    ['/cost', /the session\s+\$0\.0000/],
    ['/context', /Context: [\d,]+ tokens[^]*system prompt +\d/],
    ['/mode plan', /plans only ·/],
    ['/mode', /acceptEdits {2}Edits files without asking; commands run confined, or ask\n/],
    ['/mode plam', /did you\s+mean plan\?/],
    ['/mode bypassPermissions', /without\s+--allow-dangerously-skip-permissions/],
    ['/permissions', /No rules\./],
    ['/permissions rm -rf /', /Asks for approval: \w|Not allowed\. [A-Z]/],
    ['/todos', /There are no todos\./],
    ['/tasks', /There are no background tasks\./],
    ['/mcp', /This session has no MCP servers\./],
    ['/hooks', /This session has no hooks\./],
    ['/memory', /no notes of earlier sessions in this folder/],
    ['/theme puce', /Unknown theme puce/],
    ['/diff', /No changes/],
    ['/rewind', /not kept|There is no message to rewind to|There is no file/],
    ['/compact', /There is no conversation to compact yet\./],
    ['/why', /has no runs yet/],
  ])('%s', async (line, shown) => {
    const { terminal, say } = await startApp({ rows: 140 })
    say(line)
    await terminal.waitFor(shown)
    expect(terminal.shown()).toMatch(shown)
  })

  test('/grade stores the grade of the last run, and shows it (spec R-GRADE-1)', async () => {
    const { terminal, say, settled, home } = await startApp({ rows: 60, replies: [{ content: 'Done.' }] })
    say('/grade good')
    await terminal.waitFor(/has no runs yet/)
    say('go')
    await settled()
    say('/grade great')
    await terminal.waitFor(/"great" is not a grade\..* Grades: good, bad, none\./s)
    say('/grade bad')
    await terminal.waitFor('Graded bad: run 1 of session')
    say('/grade')
    await terminal.waitFor('bad, graded by you')
    expect(readFileSync(join(home, '.halting', 'grades.jsonl'), 'utf8')).toMatch(
      /^\{"session":"[^"]+","run":"run1","grade":"bad",/,
    )
  })

  test.each(['/quit', 'exit', ' quit '])('%s quits', async (quitLine) => {
    const { say, app } = await startApp()
    say(quitLine)
    expect(await app.ended).toBe(0)
  })
})

describe('a question', () => {
  const asks = { content: ['I ask.', bash('touch made')] }

  test('waits until nobody is typing, takes no key meant for the editor, and keeps the draft', async () => {
    const { terminal, say, type, settled, cwd } = await startApp({ replies: [asks, { content: 'Made.' }] })
    say('go')
    await terminal.waitFor('I ask.')
    type('yes and')
    await terminal.waitFor('> yes and')
    expect(existsSync(join(cwd, 'made'))).toBe(false)
    await terminal.waitFor(/y yes/)
    await answerDelay()
    type('y')
    await settled()
    expect(existsSync(join(cwd, 'made'))).toBe(true)
    await terminal.waitFor('> yes and')
  })

  test('that has just opened takes no key: the key is typed, and the question returns', async () => {
    const { terminal, say, type, settled, cwd } = await startApp({ replies: [asks, { content: 'Made.' }] })
    say('go')
    await terminal.waitFor(/y yes/)
    type('h')
    await terminal.waitFor('> h')
    expect(existsSync(join(cwd, 'made'))).toBe(false)
    await terminal.waitFor(/y yes/)
    await answerDelay()
    type('n')
    await settled()
    expect(terminal.shown()).toContain('> h')
  })

  test('that is answered twice has one answer, and no text reaches the editor', async () => {
    const { terminal, say, type, settled, cwd } = await startApp({ replies: [asks, { content: 'Made.' }] })
    say('go')
    await terminal.waitFor(/y yes/)
    await answerDelay()
    type('y', 'y')
    await settled()
    expect(existsSync(join(cwd, 'made'))).toBe(true)
    await terminal.waitFor(/>\n/)
  })

  test('closes with Ctrl+C, together with the run; a second one quits', async () => {
    const { terminal, say, type, app } = await startApp({ replies: [asks, { content: 'Not made.' }] })
    say('go')
    await terminal.waitFor('Esc or Ctrl+C stop · Ctrl+C twice quit')
    await answerDelay()
    type(key.ctrl('c'))
    await terminal.waitFor('■')
    await terminal.waitFor('Press Ctrl+C again to quit')
    type(key.ctrl('c'))
    expect(await app.ended).toBe(0)
  })

  test('a negative answer reaches the model', async () => {
    const { terminal, say, type, settled, cwd } = await startApp({ replies: [asks, { content: 'Not made.' }] })
    say('go')
    await terminal.waitFor(/y yes/)
    await answerDelay()
    type('n')
    await settled()
    expect(existsSync(join(cwd, 'made'))).toBe(false)
    await terminal.waitFor('Not made.')
  })

  test('closes with Esc, together with the run', async () => {
    const { terminal, say, type, settled } = await startApp({ replies: [asks, { content: 'Not made.' }] })
    say('go')
    await terminal.waitFor(/y yes/)
    await answerDelay()
    type(key.escape)
    await terminal.waitFor('■')
    await settled()
    type('next')
    await terminal.waitFor('> next')
    expect(terminal.shown()).toMatch('> next')
  })
})

test('a mentioned file goes with the message, and is shown by its name', async () => {
  const { terminal, say, settled, type } = await startApp({
    files: { 'notes.txt': 'first\nsecond secret line\nthird\n' },
    replies: [{ expect: 'second secret line', content: 'Read.' }],
  })
  say('see @notes.txt#2')
  await settled()
  expect(terminal.all().join('\n')).toMatch(/> see @notes.txt#2\n {2}\+ \/\S+\n?\s*.*notes.txt, lines 2 to 2/)
  expect(terminal.all().join('\n')).not.toContain('secret line')
  type(key.escape, key.escape)
  await terminal.waitFor('Rewind to before:')
  type(key.enter)
  await terminal.waitFor('> see @notes.txt#2')
})
