// Holds rules of docs/spec: R-TERM-80, R-TERM-81, R-TERM-82
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { terminalCluster } from '../../src/cluster/terminal-cluster.ts'
import { answerDelay, key, type RunningApp } from '../terminal/app-support.ts'
import { clusterOfReplies, startOnCluster } from './terminal-on-fake.ts'

const call = (name: string, input: unknown) => ({ type: 'tool_use', name, input })
const says = (...content: readonly unknown[]) => ({ content })

const idOf = ({ sessions: opened }: RunningApp): string => opened.at(-1)?.session.id ?? ''
/** How often a line is on the screen, or above it. */
const times = ({ terminal }: RunningApp, line: string): number => terminal.all().filter((each) => each === line).length

test('shows a cluster session like any other: text, calls, a question, the ending with its figures', async () => {
  const cluster = await clusterOfReplies([
    says('I write it.', call('Write', { file_path: 'out.txt', content: 'hello\n' })),
    says('Done, and **bold**.'),
  ])
  const app = await startOnCluster(cluster)
  app.say('write out.txt')
  await app.terminal.waitFor('? Write')
  await answerDelay()
  app.type('y')
  await app.terminal.waitFor('✓ done · 2 turns')
  expect(app.terminal.all()).toContain('⏺ Write out.txt +1 −0 (new file)')
  const [folder = ''] = readdirSync(cluster.folder)
  expect(readFileSync(join(cluster.folder, folder, 'out.txt'), 'utf8')).toBe('hello\n')
  expect([times(app, '> write out.txt'), times(app, 'I write it.'), times(app, 'Done, and bold.')]).toEqual([1, 1, 1])
})

test('repeats and drops nothing after a killed worker and a lost connection', async () => {
  // The model of the next worker starts again.
  const cluster = await clusterOfReplies([
    { when: 'go', ...says('First I wait.', call('Bash', { command: 'sleep 0.5; echo slept' })) },
    { when: 'slept', ...says('Then I ask.', call('Write', { file_path: 'out.txt', content: 'hello\n' })) },
    { when: 'out.txt', ...says('All is done.') },
  ])
  const app = await startOnCluster(cluster)
  app.say('go')
  await app.terminal.waitFor('? Write')
  expect(cluster.kill(idOf(app))).toBe(true)
  cluster.cutOff(true)
  await app.terminal.waitFor('Retrying.')
  cluster.cutOff(false)
  await app.terminal.waitFor('? Write')
  await answerDelay()
  app.type('y')
  await app.terminal.waitFor('✓ done')
  const lines = ['> go', 'First I wait.', 'Then I ask.', 'All is done.']
  expect(lines.map((line) => times(app, line))).toEqual([1, 1, 1, 1])
  expect(app.terminal.all().filter((line) => line.includes('Retrying.'))).toHaveLength(1)
})

test('prints how to return on exit, and shows the conversation after the return', async () => {
  const cluster = await clusterOfReplies([
    says('I ask.', call('Write', { file_path: 'out.txt', content: 'hello\n' })),
    says('All is done.'),
  ])
  const shown = terminalCluster(cluster.url, cluster.url)
  const app = await startOnCluster(cluster, {}, shown)
  const { session } = app.sessions[0] ?? {}
  if (session === undefined) throw new Error('no session')
  expect(shown.resumeHint(session)).toBe('')
  app.say('go')
  await app.terminal.waitFor('? Write')
  app.app.leave(0)
  await app.app.ended
  const command = `halting --cluster ${cluster.url} --resume ${session.id}\n`
  expect(shown.resumeHint(session)).toBe(`The run continues on the cluster. Resume: ${command}`)

  const again = await startOnCluster(cluster, { flags: { resume: session.id } })
  await again.terminal.waitFor('? Write')
  expect([times(again, '> go'), times(again, 'I ask.')]).toEqual([1, 1])
  await answerDelay()
  again.type('y')
  await again.terminal.waitFor('✓ done')
  expect(times(again, 'All is done.')).toBe(1)
})

test('runs nothing typed on this machine, and says which commands need it', async () => {
  const cluster = await clusterOfReplies([])
  const app = await startOnCluster(cluster, { columns: 120 })
  app.say('!touch here')
  await app.terminal.waitFor('Not run: ! runs commands on this machine')
  expect(existsSync(join(app.cwd, 'here'))).toBe(false)
  // It stays there, so that it can be resumed on another terminal.
  expect(app.terminal.all().some((line) => line.startsWith('> !touch here'))).toBe(true)
  app.type(key.ctrl('c'))
  for (const [command, why] of [
    ['/diff', 'the files of this session are on its worker.'],
    ['/memory', 'this session has the settings of its worker.'],
    ['/export', 'the record of this session is on the cluster.'],
  ] as const) {
    app.say(command)
    await app.terminal.waitFor(why)
  }
  app.say('/help')
  await app.terminal.holds(/^ {2}\/rewind/m)
  expect(app.terminal.all().join('\n')).not.toMatch(/^ {2}\/diff/m)
  expect(cluster.requests).toEqual([])
})

test('supports steering, the queue, interruption, rewind, new sessions and the session list', async () => {
  const cluster = await clusterOfReplies([
    says('I wait.', call('Bash', { command: 'sleep 30' })),
    says('First answer.'),
    says('Second answer.'),
  ])
  const app = await startOnCluster(cluster)
  app.say('one')
  await app.terminal.waitFor('⏺ Bash sleep 30')
  app.type('later', key.altEnter)
  await app.terminal.waitFor('after the run: "later"')
  app.type(key.altUp)
  await app.terminal.waitFor('> later')
  app.type(key.ctrl('c'), key.escape)
  await app.terminal.waitFor('■ Stopped')
  await app.settled()
  app.say('/rewind')
  await app.terminal.waitFor('Rewind to before:')
  app.type(key.enter)
  await app.terminal.waitFor('Files on the worker are not reverted.')
  app.type(key.ctrl('c'))
  const before = idOf(app)
  app.say('/clear')
  await app.terminal.waitFor('New session. Back to the previous one')
  expect(idOf(app)).not.toBe(before)
  app.say('/resume')
  await app.terminal.waitFor('Resume:')
  await app.terminal.waitFor(before.slice(0, 30))
  app.type(key.enter)
  await app.terminal.waitFor(`Resumed session ${before}`)
})
