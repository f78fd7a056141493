// Types only: `npm run types` checks this file, and nothing runs it.
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf } from 'vitest'
import { z } from 'zod'
import {
  agentTool,
  tool,
  type AgentTool,
  type AnyTool,
  type JsonObject,
  type StandardSchema,
  type Tool,
  type ToolContext,
} from '../../src/index.ts'
import type { ToolInput } from '../../src/tools/tool.ts'

const named = { name: 'Read', description: 'Reads a file' } as const
const path = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const

// A tool without an input schema receives an object that it has to inspect.
const plain: Tool = {
  ...named,
  inputSchema: path,
  readOnly: (input) => input['path'] === '/',
  execute(input) {
    expectTypeOf(input).toEqualTypeOf<ToolInput>()
    // @ts-expect-error it may be anything
    const text: string = input.path
    return typeof input.path === 'string' ? input.path : text
  },
}
const asker: AgentTool = {
  ...named,
  inputSchema: path,
  readOnly: true,
  spawn: (input) => ({ prompt: String(input.path) }),
}

// A JSON Schema literal determines the type of every part.
const fromJson = tool({
  ...named,
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, lines: { type: 'array', items: { type: 'integer' } } },
    required: ['path'],
  },
  readOnly: (input) => input.path === '/',
  validate: (input) => (input.path === '' ? { valid: false, message: 'path is empty' } : { valid: true, input }),
  execute(input, context) {
    expectTypeOf(input).toEqualTypeOf<{ readonly path: string; readonly lines?: readonly number[] }>()
    expectTypeOf(context).toEqualTypeOf<ToolContext>()
    return input.path
  },
})
expectTypeOf(fromJson).toEqualTypeOf<Tool<{ readonly path: string; readonly lines?: readonly number[] }>>()

// So does a constant, and the order of the parts does not matter.
tool({ execute: (input) => input.path.toUpperCase(), readOnly: true, inputSchema: path, ...named })

// A tool without fields.
const noFields = tool({ ...named, execute: () => 'done' })
expectTypeOf(noFields).toEqualTypeOf<Tool>()

// A schema that is only known at run time.
declare const unknownSchema: JsonObject
tool({ ...named, inputSchema: unknownSchema, execute: (input) => expectTypeOf(input).toBeUnknown() && 'done' })

// Standard Schemas: their output is the input of the tool.
const fromZod = tool({
  ...named,
  inputSchema: z.object({
    path: z.string(),
    limit: z.number().default(3),
    at: z.string().transform((text) => text.length),
  }),
  execute(input) {
    expectTypeOf(input).toEqualTypeOf<{ path: string; limit: number; at: number }>()
    return input.path
  },
})
expectTypeOf(fromZod).toEqualTypeOf<Tool<{ path: string; limit: number; at: number }>>()
tool({
  ...named,
  inputSchema: type({ path: 'string', 'limit?': 'number' }),
  execute: ({ path: at, limit = 3 }) => at.repeat(limit),
})
tool({
  ...named,
  inputSchema: toStandardJsonSchema(v.object({ path: v.string(), limit: v.optional(v.number(), 3) })),
  execute: ({ path: at, limit }) => at.repeat(limit),
})
tool({ ...named, inputSchema: v.object({ path: v.string() }), modelSchema: path, execute: (input) => input.path })

// A schema without types, as a program without types makes it.
declare const untyped: { readonly '~standard': Omit<StandardSchema['~standard'], 'types'> }
tool({
  ...named,
  inputSchema: untyped,
  modelSchema: path,
  execute: (input) => expectTypeOf(input).toBeUnknown() && 'done',
})

// A schema without its own JSON Schema needs a separate one.
// @ts-expect-error inputSchema is missing
tool({ ...named, inputSchema: v.object({ path: v.string() }), execute: () => 'done' })
// A JSON Schema needs no second one.
// @ts-expect-error the schema is there already
tool({ ...named, inputSchema: path, modelSchema: path, execute: () => 'done' })

// A schema that contradicts the parameter of any part does not compile.
tool({
  ...named,
  inputSchema: path,
  // @ts-expect-error path is a string
  execute: (input: { readonly path: number }) => `${input.path}`,
})
tool({
  ...named,
  inputSchema: path,
  // @ts-expect-error nothing says that there is a limit
  execute(input: { readonly path: string; readonly limit: number }) {
    return input.path.repeat(input.limit)
  },
})
tool({
  ...named,
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
  // @ts-expect-error path may be absent
  execute: (input: { readonly path: string }) => input.path,
})
tool({
  ...named,
  inputSchema: z.object({ path: z.string() }),
  // @ts-expect-error path is a string
  execute: (input: { path: number }) => `${input.path}`,
})
tool({
  ...named,
  inputSchema: path,
  // @ts-expect-error path is a string
  readOnly: (input: { readonly path: number }) => input.path === 1,
  execute: () => 'done',
})
tool({
  ...named,
  inputSchema: path,
  // @ts-expect-error the input that comes back is not what the schema says
  validate: () => ({ valid: true, input: { path: 1 } }),
  execute: () => 'done',
})
tool({
  ...named,
  inputSchema: path,
  execute(input) {
    // @ts-expect-error the schema has no such field
    return input.file
  },
})
// Shapes are not schemas.
// @ts-expect-error an object of schemas is not a schema
tool({ ...named, inputSchema: { path: z.string() }, execute: () => 'done' })

// Agents.
const agent = agentTool({
  ...named,
  inputSchema: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
  spawn: ({ prompt }) => ({ prompt, maxTurns: 3 }),
})
expectTypeOf(agent).toEqualTypeOf<AgentTool<{ readonly prompt: string }>>()
agentTool({
  ...named,
  inputSchema: path,
  // @ts-expect-error path is a string
  spawn: (input: { readonly path: number }) => ({ prompt: `${input.path}` }),
})
// An agent without spawn has a prompt function, which receives what the schema describes.
const described = agentTool({
  ...named,
  inputSchema: path,
  system: 'You read.',
  tools: [plain, 'Read'],
  output: z.object({ lines: z.number() }),
  prompt: (input) => {
    expectTypeOf(input).toEqualTypeOf<{ readonly path: string }>()
    return input.path
  },
})
expectTypeOf(described).toEqualTypeOf<AgentTool<{ readonly path: string }>>()
// @ts-expect-error spawn returns the prompt
agentTool({ ...named, prompt: () => 'x', spawn: () => ({ prompt: 'x' }) })
// @ts-expect-error a tool executes or spawns
agentTool({ ...named, execute: () => 'done' })

// A list of tools accepts all of them, whatever their inputs.
class Submit implements Tool<{ readonly answer: string }> {
  readonly name = 'Submit'
  readonly description = ''
  readonly inputSchema: JsonObject = { type: 'object' }
  readonly readOnly = ({ answer }: { readonly answer: string }): boolean => answer === ''
  readonly validate = (): { readonly valid: true; readonly input: { readonly answer: string } } => ({
    valid: true,
    input: { answer: '' },
  })
  execute({ answer }: { readonly answer: string }): string {
    return answer
  }
}
interface ReadInput {
  readonly path: string
}
declare const withInterface: Tool<ReadInput>
declare const withUnknown: Tool<unknown>
declare const withNever: Tool<never>
const list: readonly AnyTool[] = [
  plain,
  asker,
  fromJson,
  noFields,
  fromZod,
  agent,
  new Submit(),
  withInterface,
  withUnknown,
  withNever,
]
expectTypeOf(list).toEqualTypeOf<readonly AnyTool[]>()
