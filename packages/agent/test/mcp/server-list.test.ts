// Spec R-MCP-18, R-MCP-18a: servers that come, go and are switched in the course of a session.
import { McpServer } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import * as z from 'zod'
import type { McpServerConfig } from '../../src/mcp/index.ts'
import { call, readyServers, textOf } from './support.ts'

interface Counted {
  readonly server: McpServerConfig
  readonly opened: () => number
  readonly closed: () => number
}

/** A server in this process with one tool, which counts its connections. */
function own(name: string, tool = 'add'): Counted {
  const instance = new McpServer({ name, version: '1.2' })
  const inputSchema = z.object({ a: z.number() })
  instance.registerTool(tool, { description: 'adds', inputSchema, annotations: { readOnlyHint: true } }, ({ a }) => ({
    content: [{ type: 'text', text: `${name} ${a}` }],
  }))
  let opened = 0
  let closed = 0
  return {
    server: {
      type: 'sdk',
      instance: {
        connect: async (transport: never) => {
          opened += 1
          await instance.connect(transport)
        },
        close: async () => {
          closed += 1
          await instance.close()
        },
      },
    },
    opened: () => opened,
    closed: () => closed,
  }
}

const broken = { problem: 'its url must begin with http:// or https://' }

test('replaces only the dynamic servers; unchanged ones stay connected', async () => {
  const [fixed, one, two] = [own('fixed'), own('one'), own('two')]
  const servers = await readyServers({ fixed: fixed.server })
  let changes = 0
  servers.onChange(() => void (changes += 1))
  expect(
    await servers.replace([
      { name: 'one', server: one.server },
      { name: 'odd', server: broken },
    ]),
  ).toEqual({ added: ['one', 'odd'], removed: [], errors: { odd: broken.problem } })
  expect([servers.names, changes > 0]).toEqual([['mcp__fixed__add', 'mcp__one__add'], true])
  expect(
    await servers.replace([
      { name: 'one', server: one.server },
      { name: 'two', server: two.server },
    ]),
  ).toEqual({ added: ['two'], removed: ['odd'], errors: {} })
  expect([one.opened(), one.closed(), two.opened()]).toEqual([1, 0, 1])
  expect(textOf(await call(servers, 'mcp__two__add', { a: 3 }))).toBe('two 3')
  expect(await servers.replace([])).toEqual({ added: [], removed: ['one', 'two'], errors: {} })
  expect([servers.names, one.closed(), two.closed(), fixed.closed()]).toEqual([['mcp__fixed__add'], 1, 1, 0])
  expect(servers.tool('mcp__one__add')).toBeUndefined()
})

test('replaces a server that is named again with other fields, wherever it was first named', async () => {
  const [first, second] = [own('first'), own('second')]
  const servers = await readyServers({ s: first.server })
  expect(await servers.replace([{ name: 's', server: second.server }])).toEqual({
    added: ['s'],
    removed: [],
    errors: {},
  })
  expect([textOf(await call(servers, 'mcp__s__add', { a: 1 })), first.closed()]).toEqual(['second 1', 1])
  expect((await servers.replace([])).removed).toEqual(['s'])
})

test('ends a server that is switched off and hides its tools; switching it on reconnects it', async () => {
  const one = own('one')
  const servers = await readyServers({ one: one.server, odd: broken })
  expect(servers.statuses).toEqual([
    {
      name: 'one',
      status: 'connected',
      tools: 1,
      info: { name: 'one', version: '1.2' },
      offered: [{ name: 'add', description: 'adds', readOnly: true }],
    },
    { name: 'odd', status: 'failed', problem: broken.problem, tools: 0 },
  ])
  await servers.toggle('one', { isOn: false })
  await servers.toggle('one', { isOn: false })
  expect([servers.names, servers.statuses[0], one.closed()]).toEqual([
    [],
    { name: 'one', status: 'disabled', tools: 0 },
    1,
  ])
  await expect(servers.reconnect('one')).rejects.toThrow('The MCP server one is switched off.')
  await servers.toggle('one', { isOn: true })
  expect([servers.names, one.opened()]).toEqual([['mcp__one__add'], 2])
  await servers.reconnect('one')
  expect([one.opened(), one.closed(), servers.statuses[0]?.status]).toEqual([3, 2, 'connected'])
  await expect(servers.reconnect('odd')).rejects.toThrow(
    'The MCP server odd is not connected: its url must begin with http:// or https://.',
  )
  await expect(servers.reconnect('none')).rejects.toThrow('There is no MCP server none.')
  await expect(servers.toggle('none', { isOn: true })).rejects.toThrow('There is no MCP server none.')
})

test('applies concurrent changes one after another; the last one wins', async () => {
  const [one, two] = [own('one', 'first'), own('two', 'second')]
  const servers = await readyServers({})
  const made = [
    servers.replace([{ name: 's', server: one.server }]),
    servers.toggle('s', { isOn: false }),
    servers.replace([{ name: 's', server: two.server }]),
  ]
  await Promise.all(made)
  expect([servers.names, servers.statuses.map(({ status }) => status)]).toEqual([['mcp__s__second'], ['connected']])
  await servers.dispose()
  expect([one.opened(), one.closed(), two.opened(), two.closed()]).toEqual([1, 1, 1, 1])
})

test('removing a server during a call ends the call', async () => {
  const instance = new McpServer({ name: 'slow', version: '1' })
  const begun = new Promise<void>((resolve) => {
    instance.registerTool('wait', { inputSchema: z.object({}) }, () => {
      resolve()
      return new Promise<never>(() => undefined)
    })
  })
  const servers = await readyServers({})
  await servers.replace([{ name: 'slow', server: { type: 'sdk', instance } }])
  const called = call(servers, 'mcp__slow__wait')
  await begun
  await servers.replace([])
  expect((await called).isError).toBe(true)
})
