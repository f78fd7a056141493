// Spec R-BOX-6a: WebFetch rules feed the sandbox of a run.
import { spawnSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { holdCommands } from '../src/session/sandbox.ts'
import { openToolbox } from '../src/session/toolbox.ts'

const isBubblewrapThere =
  process.platform === 'linux' && spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', 'true']).status === 0

test.skipIf(!isBubblewrapThere).each([
  [['WebFetch(domain:example.com)'], [], 'proxy'],
  [['WebFetch'], [], 'none'],
  [[], ['WebFetch(domain:example.com)'], 'none'],
])('allowed %j, denied %j: %s', async (allowedTools, disallowedTools, network) => {
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent' }
  const toolbox = openToolbox({ allowedTools, disallowedTools, sandbox: true }, import.meta.dirname, env)
  onTestFinished(() => toolbox.workspace.dispose())
  await holdCommands({ sandbox: true }, {}, toolbox, { env, output: { err: () => undefined } as never })
  expect(toolbox.workspace.sandbox?.describe('project').description.network).toBe(network)
})

test.skipIf(!isBubblewrapThere).each([
  [[], 'none'],
  [['docs.example'], 'proxy'],
])(
  'where an administrator alone says what is reached, domains of other rules do not count: %j, %s',
  async (managedDomains, network) => {
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent' }
    const allowedTools = ['WebFetch(domain:evil.example)', 'WebFetch(domain:docs.example)']
    const toolbox = openToolbox({ allowedTools, sandbox: true }, import.meta.dirname, env)
    onTestFinished(() => toolbox.workspace.dispose())
    const settings = { managedDomains }
    await holdCommands({ sandbox: true }, settings, toolbox, { env, output: { err: () => undefined } as never })
    expect(toolbox.workspace.sandbox?.describe('project').description.network).toBe(network)
  },
)
