import { expect, test } from 'vitest'
import { installProgram, run, script, start } from './support/program.ts'

installProgram()

/** The script refuses the request unless the prompt contains the text. */
const expecting = (text: string) => script([{ expect: text, content: 'Seen.' }])
const seen = { status: 0, stdout: 'Seen.\n', stderr: '' }

test('appends piped stdin to the prompt', async () => {
  expect(
    await run(['-p', 'What is this?', '--script', expecting('What is this?\n\nline 1\nline 2')], {
      stdin: 'line 1\nline 2\n',
    }),
  ).toEqual(seen)
})

test('uses piped stdin alone as the prompt, with and without -p', async () => {
  for (const flags of [['-p'], []])
    expect(await run([...flags, '--script', expecting('from a pipe')], { stdin: 'from a pipe\n' })).toEqual(seen)
})

test('leaves the prompt unchanged with an empty pipe', async () => {
  expect(await run(['-p', 'just this', '--script', expecting('just this')])).toEqual(seen)
})

test('does not block on an open, silent pipe, and says so', async () => {
  const { status, stdout, stderr } = await run(['-p', 'just this', '--script', expecting('just this')], {
    stdin: { open: true },
  })
  expect({ status, stdout, stderr }).toEqual({
    ...seen,
    stderr: 'halting: no input on stdin for 3 s; continuing without it. Add < /dev/null to skip this wait.\n',
  })
})

test('reads a pipe to its end once data has arrived, however slow it is', async () => {
  const running = start(['-p', 'all of it:', '--script', expecting('all of it:\n\nfirst last')], {
    stdin: { open: true },
  })
  running.child.stdin?.write('first ')
  await new Promise((resolve) => setTimeout(resolve, 3_300))
  running.child.stdin?.end('last')
  expect(await running.ended).toEqual(seen)
})

test('prints its usage without a prompt and stdin, before it asks for a key', async () => {
  for (const args of [['-p', '--script', expecting('x')], ['-p'], ['-p', ' ']])
    expect(await run(args)).toEqual({
      status: 2,
      stdout: '',
      stderr: 'halting: No prompt. Put it after -p (halting -p "What does this project do?"), or pipe it in.\n',
    })
})

test('needs a terminal for a conversation without -p and a prompt', async () => {
  expect(await run([])).toEqual({
    status: 2,
    stdout: '',
    stderr:
      'halting: The interactive program needs a terminal, but its input is not a terminal. Use halting -p "PROMPT" instead.\n',
  })
})

test('refuses more than 10 MB on stdin, with advice', async () => {
  const { status, stderr } = await run(['-p', 'read', '--script', expecting('x')], {
    stdin: 'x'.repeat(10 * 1024 * 1024 + 1),
  })
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'halting: stdin has more than 10 MB. Put it in a file and name the file in the prompt.\n',
  })
})
