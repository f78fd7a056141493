// Holds R-MCP-19 of docs/spec: one oddity costs one tool or one block, and is named.
import { specTypeSchemas } from '@modelcontextprotocol/client'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { repairCallResult, repairPrompt, repairResourceContents } from '../../src/mcp/repair/content-blocks.ts'
import {
  repairHandshake,
  repairPrompts,
  repairResources,
  repairTemplates,
  repairTools,
} from '../../src/mcp/repair/offered-lists.ts'
import { Reports } from '../../src/mcp/repair/reports.ts'
import { saying, tool } from './in-process-server.ts'
import { call, readyServers, textOf } from './support.ts'

const good = tool('good')
const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

describe('a malformed tool', () => {
  const fields = { a: { type: 'string' } }
  test.each([
    ['no type', { inputSchema: { properties: fields } }, { type: 'object', properties: fields }],
    [
      'a type that is null',
      { inputSchema: { type: null, properties: fields } },
      { type: 'object', properties: fields },
    ],
    [
      'two types',
      { inputSchema: { type: ['object', 'null'], properties: fields } },
      { type: 'object', properties: fields },
    ],
    ['properties: null', { inputSchema: { type: 'object', properties: null } }, { type: 'object' }],
    ['properties: []', { inputSchema: { type: 'object', properties: [], required: [] } }, { type: 'object' }],
    [
      'required: null',
      { inputSchema: { type: 'object', properties: fields, required: null } },
      { type: 'object', properties: fields },
    ],
    ['a keyword of its own', { inputSchema: { type: 'object', problem: 'x' } }, { type: 'object', problem: 'x' }],
    ['no input schema', { inputSchema: undefined }, { type: 'object' }],
    ['inputSchema: null', { inputSchema: null }, { type: 'object' }],
    ['inputSchema: []', { inputSchema: [] }, { type: 'object' }],
    ['inputSchema: true', { inputSchema: true }, { type: 'object' }],
    ['an output schema without type', { outputSchema: { properties: fields } }, { type: 'object' }],
    ['outputSchema: null', { outputSchema: null }, { type: 'object' }],
    ['description: null', { description: null, title: null, annotations: null, _meta: null }, { type: 'object' }],
    ['icons that are none', { icons: 'none', execution: 7, _meta: [] }, { type: 'object' }],
  ])('with %s is offered, and so are the others', async (_, odd, inputSchema) => {
    const servers = await readyServers({ s: saying([tool('odd', odd), good]) })
    expect(servers.statuses).toMatchObject([{ status: 'connected', tools: 2 }])
    expect(servers.statuses[0]).not.toHaveProperty('leftOut')
    expect(servers.tool('mcp__s__odd')?.inputSchema).toEqual(inputSchema)
    expect(servers.tool('mcp__s__odd')?.description).not.toMatch(/null|cannot be shown/)
  })

  const deep = (levels: number): Json => (levels === 0 ? {} : { properties: { a: deep(levels - 1) } })
  test.each([
    ['a text', { type: 'object', properties: 'none' }, 'the properties of its input schema are not an object'],
    ['of a text', { type: 'string' }, 'its input schema does not describe an object'],
    ['nested too deeply', deep(3_000), 'its input schema is nested too deeply'],
  ])('with a schema that is %s is offered without fields, and reported', async (_, inputSchema, why) => {
    const servers = await readyServers({ s: saying([tool('odd', { inputSchema }), good]) })
    expect(servers.statuses).toMatchObject([
      { status: 'connected', tools: 2, leftOut: [`its tool odd is shown without fields: ${why}`] },
    ])
  })

  test('without a name is omitted, and reported as far as possible', async () => {
    const odd = [{ ...good, name: undefined, title: 'The\nodd' }, { ...good, name: 7 }, 'tool', null]
    const servers = await readyServers({ s: saying([...(odd as never[]), good]) })
    expect(servers.statuses).toMatchObject([
      {
        status: 'connected',
        tools: 1,
        leftOut: [
          'its tool The odd is left out: it has no name',
          'a tool of it is left out: it has no name',
          'a tool of it is left out: it is not an object',
          'a tool of it is left out: it is not an object',
        ],
      },
    ])
  })

  test('among very many is counted', () => {
    const reports = new Reports()
    for (let count = 0; count < 25; count++) reports.add('tools/list', `problem ${count}`)
    expect(reports.take('tools/list').slice(18)).toEqual(['problem 18', 'problem 19', '5 more'])
    expect(reports.take('tools/list')).toEqual([])
  })
})

describe('a result', () => {
  const text = { type: 'text', text: 'known' }
  test.each<readonly [string, JsonObject | Json, string]>([
    ['an unknown type', { type: 'video', data: 'x' }, 'known\n[video, not shown]'],
    ['no type', { text: 'x' }, 'known\n[block without a type, not shown]'],
    ['text: null', { type: 'text', text: null }, 'known\n[text, not shown: it has no content]'],
    ['text that is a number', { type: 'text', text: 7 }, 'known\n7'],
    ['an image without data', { type: 'image', mimeType: 'image/png' }, 'known\n[image, not shown: it has no content]'],
    ['an image without a type', { type: 'image', data }, 'known\n<image>'],
    [
      'an image as a data URL',
      { type: 'image', data: `data:image/png;base64,${data}`, mimeType: 'image/png' },
      'known\n<image>',
    ],
    ['a link without a name', { type: 'resource_link', uri: 'mem://x' }, 'known\n[resource mem://x: mem://x]'],
    [
      'an empty resource',
      { type: 'resource', resource: { uri: 'mem://x' } },
      'known\n[resource, not shown: it has no content]',
    ],
    ['annotations that are none', { ...text, annotations: 'none', _meta: 7 }, 'known\nknown'],
    ['a text for a block', 'bare', 'known\nbare'],
    ['null for a block', null, 'known\n[invalid part, not shown]'],
  ])('with %s keeps its other blocks', async (_, block, shown) => {
    const content = [text, block] as never[]
    const servers = await readyServers({ s: saying([good], { content }) })
    expect(textOf(await call(servers, 'mcp__s__good'))).toBe(shown)
  })

  test.each([
    [{ content: null, structuredContent: { a: 1 } }, '{\n  "a": 1\n}', undefined],
    [{ content: [text], structuredContent: [1], isError: null, _meta: null }, 'known', undefined],
    [{ structuredContent: [1] }, '{\n  "result": [\n    1\n  ]\n}', undefined],
    [{ content: [text], isError: 'true' }, 'known', true],
    [{ content: [text], isError: 'no' }, 'known', undefined],
  ])('is repaired: %j', async (result, shown, isError) => {
    // Its output schema promises what it does not return.
    const servers = await readyServers({
      s: saying([tool('good', { outputSchema: { type: 'object', required: ['b'] } })], result),
    })
    const output = await call(servers, 'mcp__s__good')
    expect([textOf(output), output.isError]).toEqual([shown, isError])
  })

  test('with deeply nested data keeps its text', async () => {
    let deep: Json = 1
    for (let level = 0; level < 3_000; level++) deep = { a: deep }
    const servers = await readyServers({ s: saying([good], { content: [text], structuredContent: deep }) })
    expect(textOf(await call(servers, 'mcp__s__good'))).toBe(
      'known\n[structured content, not shown: nested too deeply]',
    )
  })
})

test('accepts any self-description of a server', async () => {
  const initialize = {
    serverInfo: { name: null, version: 7 },
    capabilities: { tools: true, prompts: null, x: 1 },
    instructions: [],
  }
  const servers = await readyServers({ s: saying([good], { content: [] }, initialize) })
  expect(servers.statuses).toMatchObject([{ status: 'connected', tools: 1 }])
})

describe('for any message of a server', () => {
  const fieldNames = fc.constantFrom('type', 'name', 'title', 'description', 'inputSchema', 'properties', 'required', 'annotations', 'text', 'data', 'mimeType', 'uri', 'uriTemplate', 'resource', 'blob', 'arguments', 'role', 'content', '_meta', 'tools', 'prompts', 'capabilities', 'serverInfo', 'version', 'structuredContent', 'isError', 'nextCursor', '$schema', 'readOnlyHint') // prettier-ignore
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<Json>(
        null,
        true,
        false,
        0,
        '',
        'object',
        'text',
        'image',
        'audio',
        'resource',
        'resource_link',
        'a b',
        '====',
      ),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fieldNames, tie('value'), { maxKeys: 5, noNullPrototype: true }),
    ),
  }))
  const rest = fc.dictionary(fieldNames, value, { maxKeys: 3, noNullPrototype: true })
  const items = fc.array(value, { maxLength: 4 })

  test.each([
    ['ListToolsResult', repairTools, 'tools', good],
    ['ListPromptsResult', repairPrompts, 'prompts', { name: 'good', arguments: [{ name: 'a', required: true }] }],
    ['ListResourcesResult', repairResources, 'resources', { uri: 'mem://good', name: 'good' }],
    ['ListResourceTemplatesResult', repairTemplates, 'resourceTemplates', { uriTemplate: 'mem://{x}', name: 'good' }],
    ['CallToolResult', repairCallResult, 'content', { type: 'image', data: 'aGk=', mimeType: 'image/png' }],
    ['GetPromptResult', repairPrompt, 'messages', { role: 'user', content: { type: 'text', text: 'good' } }],
    ['ReadResourceResult', repairResourceContents, 'contents', { uri: 'mem://good', text: 'good' }],
  ] as const)('%s keeps the valid parts, and the client accepts it', (name, repair, field, one) => {
    fc.assert(
      fc.property(rest, items, items, (more, before, after) => {
        const repaired = repair({ ...more, [field]: [...before, one as JsonObject, ...after] }, () => undefined)
        expect(repaired[field]).toContainEqual(one)
        const checked = specTypeSchemas[name]['~standard'].validate(repaired)
        expect(checked.issues ?? []).toEqual([])
        expect(repair(repaired, (problem) => expect(problem).toBe('nothing more'))).toEqual(repaired)
      }),
      { numRuns: 100 },
    )
  })

  test('InitializeResult is acceptable to the client', () => {
    fc.assert(
      fc.property(rest, (more) => {
        const repaired = repairHandshake({ ...more, protocolVersion: '2025-06-18' }, () => undefined)
        const checked = specTypeSchemas.InitializeResult['~standard'].validate(repaired)
        expect(checked.issues ?? []).toEqual([])
        expect(isJsonObject(repaired['capabilities'])).toBe(true)
      }),
      { numRuns: 100 },
    )
  })
})
