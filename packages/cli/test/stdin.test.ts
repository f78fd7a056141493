import { expect, test } from 'vitest'
import { installProgram, run, script, start } from './support/program.ts'

installProgram()

/** The script refuses the request unless the prompt holds the text. */
const expecting = (text: string) => script([{ expect: text, content: 'Seen.' }])
const seen = { status: 0, stdout: 'Seen.\n', stderr: '' }

test('piped stdin joins the prompt, after it', async () => {
  expect(
    await run(['-p', 'What is this?', '--script', expecting('What is this?\n\nline 1\nline 2')], {
      stdin: 'line 1\nline 2\n',
    }),
  ).toEqual(seen)
})

test('piped stdin alone is the prompt, with and without -p', async () => {
  for (const flags of [['-p'], []])
    expect(await run([...flags, '--script', expecting('from a pipe')], { stdin: 'from a pipe\n' })).toEqual(seen)
})

test('an empty pipe leaves the prompt as it is', async () => {
  expect(await run(['-p', 'just this', '--script', expecting('just this')])).toEqual(seen)
})

test('an open pipe that says nothing does not hang a prompt, and it is told', async () => {
  const { status, stdout, stderr } = await run(['-p', 'just this', '--script', expecting('just this')], {
    stdin: { open: true },
  })
  expect({ status, stdout, stderr }).toEqual({
    ...seen,
    stderr: 'halting: no input on stdin for 3 s; continuing without it. Add < /dev/null to skip this wait.\n',
  })
})

test('a pipe that has begun is read to its end, however slow', async () => {
  const running = start(['-p', 'all of it:', '--script', expecting('all of it:\n\nfirst last')], {
    stdin: { open: true },
  })
  running.child.stdin?.write('first ')
  await new Promise((resolve) => setTimeout(resolve, 3_300))
  running.child.stdin?.end('last')
  expect(await running.ended).toEqual(seen)
})

test('without a prompt and with nothing on stdin it says how it is used, before it asks for a key', async () => {
  for (const args of [['-p', '--script', expecting('x')], ['-p'], ['-p', ' ']])
    expect(await run(args)).toEqual({
      status: 2,
      stdout: '',
      stderr: 'halting: No prompt. Put it after -p (halting -p "What does this project do?"), or pipe it in.\n',
    })
})

test('without -p and a prompt, what is asked for is a conversation: it needs a terminal', async () => {
  expect(await run([])).toEqual({
    status: 2,
    stdout: '',
    stderr:
      'halting: The interactive program needs a terminal, but its input is not a terminal. Use halting -p "PROMPT" instead.\n',
  })
})

test('more than 10 MB on stdin is refused, with what to do instead', async () => {
  const { status, stderr } = await run(['-p', 'read', '--script', expecting('x')], {
    stdin: 'x'.repeat(10 * 1024 * 1024 + 1),
  })
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'halting: stdin has more than 10 MB. Put it in a file and name the file in the prompt.\n',
  })
})
