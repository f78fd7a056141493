// Types only: `npm run types` checks this file, and nothing runs it.
import { expectTypeOf } from 'vitest'
import type { FromJsonSchema, Json, JsonObject } from '../../src/index.ts'
import type { ToolInput } from '../../src/tools/tool.ts'

/** Keeps the literal types of a schema, as `tool({ input })` does. */
declare function literal<const Schema extends JsonObject>(schema: Schema): FromJsonSchema<Schema>

// The fields of an object: required ones, and optional ones.
expectTypeOf(
  literal({
    type: 'object',
    properties: {
      path: { type: 'string', minLength: 1, description: 'The file' },
      line: { type: 'integer' },
      all: { type: 'boolean' },
      note: {},
    },
    required: ['path', 'reason'],
    additionalProperties: false,
  }),
).toEqualTypeOf<{
  readonly path: string
  readonly reason: unknown
  readonly line?: number
  readonly all?: boolean
  readonly note?: unknown
}>()

// Lists, choices, constants, alternatives, null, objects in objects.
expectTypeOf(
  literal({
    type: 'object',
    properties: {
      names: { type: 'array', items: { type: 'string' } },
      any: { type: 'array' },
      mode: { type: 'string', enum: ['read', 'write', null, 3] },
      version: { const: 2 },
      size: { type: ['number', 'null'] },
      either: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'number' } }] },
      one: { oneOf: [{ type: 'object', properties: { a: { type: 'null' } } }, { const: false }] },
      nested: { type: 'object', properties: { deep: { type: 'boolean' } }, required: ['deep'] },
      counts: { type: 'object', additionalProperties: { type: 'integer' } },
    },
    required: ['names', 'any', 'mode', 'version', 'size', 'either', 'one', 'nested', 'counts'],
  }),
).toEqualTypeOf<{
  readonly names: readonly string[]
  readonly any: readonly unknown[]
  readonly mode: 'read' | 'write' | 3 | null
  readonly version: 2
  readonly size: number | null
  readonly either: string | readonly number[]
  readonly one: { readonly a?: null } | false
  readonly nested: { readonly deep: boolean }
  readonly counts: { readonly [name: string]: number }
}>()

// An object without further keywords is any object.
expectTypeOf(literal({ type: 'object' })).toEqualTypeOf<ToolInput>()
expectTypeOf(literal({ type: 'object', properties: {} })).toEqualTypeOf<ToolInput>()
expectTypeOf(literal({ type: 'object', additionalProperties: false })).toEqualTypeOf<ToolInput>()

// A union of two schemas.
expectTypeOf<
  FromJsonSchema<
    | { readonly type: 'string' }
    | { readonly type: 'object'; readonly properties: { readonly a: { readonly type: 'null' } } }
  >
>().toEqualTypeOf<string | { readonly a?: null }>()

// Alternatives next to a type.
expectTypeOf(
  literal({
    type: 'object',
    properties: { a: { type: 'string' } },
    anyOf: [{ required: ['a'] }, { type: 'object', properties: { b: { type: 'null' } }, required: ['b'] }],
  }),
).toExtend<{ readonly a?: string }>()

// What is only known at run time is `unknown`, and nothing that may be wrong.
expectTypeOf<FromJsonSchema<JsonObject>>().toBeUnknown()
expectTypeOf<FromJsonSchema<Json>>().toBeUnknown()
expectTypeOf<FromJsonSchema<{ readonly type: string }>>().toBeUnknown()
expectTypeOf<FromJsonSchema<{ readonly type?: 'string' }>>().toBeUnknown()
expectTypeOf<FromJsonSchema<{ readonly type: readonly [] }>>().toBeUnknown()
expectTypeOf<FromJsonSchema<{ readonly type: readonly ('string' | 'null')[] }>>().toBeUnknown()
declare const widened: { type: string; properties: { a: { type: string } }; required: string[] }
expectTypeOf<FromJsonSchema<typeof widened>>().toBeUnknown()

// Unsupported keywords, and types with an unknown name.
expectTypeOf(literal({ $ref: '#/$defs/a' })).toBeUnknown()
expectTypeOf(literal({ allOf: [{ type: 'string' }] })).toBeUnknown()
expectTypeOf(literal({ properties: { a: { type: 'string' } } })).toBeUnknown()
expectTypeOf(literal({ type: 'file' })).toBeUnknown()
expectTypeOf(literal({ type: ['string', 'file'] })).toBeUnknown()
expectTypeOf<FromJsonSchema<true>>().toBeUnknown()

// Elements that another keyword describes.
expectTypeOf(literal({ type: 'array', prefixItems: [{ type: 'null' }], items: { type: 'string' } })).toEqualTypeOf<
  readonly unknown[]
>()
expectTypeOf(literal({ type: 'array', items: [{ type: 'string' }] })).toEqualTypeOf<readonly unknown[]>()

// Fields that may have other names than the declared ones.
expectTypeOf(
  literal({ type: 'object', patternProperties: { '^x': {} }, additionalProperties: { type: 'number' } }),
).toEqualTypeOf<ToolInput>()
expectTypeOf<
  FromJsonSchema<{
    readonly type: 'object'
    readonly properties: { readonly [name: string]: { readonly type: 'string' } }
    readonly required: readonly ['a']
  }>
>().toEqualTypeOf<{ readonly a: unknown }>()

// A list of required names that is not fully known.
type With<Required> = FromJsonSchema<{
  readonly type: 'object'
  readonly properties: { readonly a: { readonly type: 'string' }; readonly b: { readonly type: 'string' } }
  readonly required: Required
}>
type Optional = { readonly a?: string; readonly b?: string }
expectTypeOf<With<readonly string[]>>().toEqualTypeOf<Optional>()
expectTypeOf<With<readonly ('a' | 'b')[]>>().toEqualTypeOf<Optional>()
expectTypeOf<With<readonly ['a' | 'b']>>().toEqualTypeOf<Optional>()
expectTypeOf<With<readonly ['a'] | readonly ['b']>>().toEqualTypeOf<Optional>()
expectTypeOf<With<readonly ['a'?]>>().toEqualTypeOf<Optional>()
expectTypeOf<With<readonly [`a${string}`]>>().toEqualTypeOf<Optional>()
expectTypeOf<With<readonly ['b']>>().toEqualTypeOf<{ readonly b: string; readonly a?: string }>()
