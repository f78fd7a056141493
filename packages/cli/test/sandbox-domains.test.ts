// Spec R-BOX-6a: WebFetch rules configure the sandbox of a run.
import { spawnSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { confineCommands, openToolbox } from '@halting/agent/open-session'

const portsWith = (env: Record<string, string | undefined>) => ({
  env,
  cwd: import.meta.dirname,
  hiddenVariables: [],
  nameOf: (name: string) => name,
  note: () => undefined,
  wordNotice: () => '',
})

const isBubblewrapThere =
  process.platform === 'linux' && spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', 'true']).status === 0

test.skipIf(!isBubblewrapThere).each([
  [['WebFetch(domain:example.com)'], [], 'proxy'],
  [['WebFetch'], [], 'none'],
  [[], ['WebFetch(domain:example.com)'], 'none'],
])('allowed %j, denied %j: %s', async (allowedTools, disallowedTools, network) => {
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent' }
  const run = { choices: { allowedTools, disallowedTools, sandbox: true }, settings: {} }
  const toolbox = openToolbox(run, portsWith(env))
  onTestFinished(() => toolbox.workspace.dispose())
  await confineCommands(run, toolbox, portsWith(env))
  expect(toolbox.workspace.sandbox?.describe('project').description.network).toBe(network)
})

test.skipIf(!isBubblewrapThere).each([
  [[], 'none'],
  [['docs.example'], 'proxy'],
])('ignores domains of other rules if only an administrator decides: %j, %s', async (managedDomains, network) => {
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent' }
  const allowedTools = ['WebFetch(domain:evil.example)', 'WebFetch(domain:docs.example)']
  const run = { choices: { allowedTools, sandbox: true }, settings: { managedDomains } }
  const toolbox = openToolbox(run, portsWith(env))
  onTestFinished(() => toolbox.workspace.dispose())
  await confineCommands(run, toolbox, portsWith(env))
  expect(toolbox.workspace.sandbox?.describe('project').description.network).toBe(network)
})
