// examples/open-session.mjs
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSession } from '@halting/agent/open-session'

const cwd = await mkdtemp(join(tmpdir(), 'project-'))
const home = await mkdtemp(join(tmpdir(), 'home-'))
const script = join(home, 'script.json') // The replies of a scripted model. Omit `script` to use a real one.
const call = { type: 'tool_use', name: 'Write', input: { file_path: 'notes.txt', content: 'Buy milk.' } }
await writeFile(script, JSON.stringify({ replies: [{ content: [call] }, { content: 'The note is written.' }] }))

const live = await openSession({
  choices: { script, maxTurns: 10, permissionMode: 'default' },
  answersQuestions: true,
  ports: {
    cwd,
    env: { PATH: process.env.PATH, HOME: home },
    version: () => '1.0.0',
    trustedBy: undefined,
    hiddenVariables: [],
    nameOf: (choice) => choice,
    wordNotice: (notice) => notice.text ?? notice.kind,
    note: (text) => console.error(text),
  },
})

const { session } = live
session.listen((event) => {
  if (event.type !== 'question') return
  const { id, toolName, input } = event.question
  console.log(`${toolName}?`, input.file_path)
  session.answer(id, { behavior: input.file_path === 'notes.txt' ? 'allow' : 'deny', message: 'Only the notes.' })
})

const { content } = await live.prepare('Note that I have to buy milk.')
session.prompt(content)
await session.settled()
console.log(session.snapshot.last.reason, await readFile(join(cwd, 'notes.txt'), 'utf8'))
await session.close()
