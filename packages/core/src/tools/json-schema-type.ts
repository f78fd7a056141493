import type { ToolInput } from './tool.ts'

/**
 * The type of the values that fit a JSON Schema whose literal type is known: a literal in `tool({ input })`, or a
 * constant `as const`.
 * It reads type (one or a list), properties, required, additionalProperties, items, enum, const, anyOf and oneOf, as
 * `schemaProblems` checks them. Other keywords only narrow what fits, so the type stays correct. If nothing can be read,
 * it is `unknown`.
 * The whole type is read-only, because an input is shared with the transcript.
 */
export type FromJsonSchema<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: infer Values }
    ? ItemOf<Values>
    : FormsOf<Schema, 'anyOf'> & FormsOf<Schema, 'oneOf'> & TypedOf<Schema>

type ItemOf<List> = List extends readonly (infer Item)[] ? Item : unknown

type FormsOf<Schema, Keyword extends string> = Schema extends { readonly [key in Keyword]: readonly (infer Form)[] }
  ? FromJsonSchema<Form>
  : unknown

type TypedOf<Schema> = Schema extends { readonly type: infer Type }
  ? Type extends readonly unknown[]
    ? // An empty list would allow every value.
      Type extends readonly [unknown, ...unknown[]]
      ? Named<Type[number], Schema>
      : unknown
    : Named<Type, Schema>
  : unknown

type Named<Type, Schema> = Type extends 'string'
  ? string
  : Type extends 'number' | 'integer'
    ? number
    : Type extends 'boolean'
      ? boolean
      : Type extends 'null'
        ? null
        : Type extends 'array'
          ? readonly ElementOf<Schema>[]
          : Type extends 'object'
            ? ObjectOf<Schema>
            : unknown

/** `items` applies to every element only if no other keyword applies to the first ones. */
type ElementOf<Schema> = 'prefixItems' extends keyof Schema
  ? unknown
  : Schema extends { readonly items: infer Items }
    ? FromJsonSchema<Items>
    : unknown

type ObjectOf<Schema> = Schema extends { readonly properties: infer Properties }
  ? Fields<Properties, RequiredOf<Schema>>
  : 'properties' extends keyof Schema
    ? Fields<unknown, RequiredOf<Schema>>
    : RecordOf<Schema>

/** `additionalProperties` applies to every field only if no other keyword covers some fields. */
type RecordOf<Schema> = 'patternProperties' extends keyof Schema
  ? Fields<unknown, RequiredOf<Schema>>
  : Schema extends { readonly additionalProperties: infer Values }
    ? Values extends object
      ? { readonly [name: string]: FromJsonSchema<Values> }
      : Fields<unknown, RequiredOf<Schema>>
    : Fields<unknown, RequiredOf<Schema>>

type Fields<Properties, Required extends PropertyKey> = [WrittenKey<Properties> | Required] extends [never]
  ? ToolInput
  : Simplify<
      {
        readonly [Name in Required]: Name extends WrittenKey<Properties> ? FromJsonSchema<Properties[Name]> : unknown
      } & {
        readonly [Name in Exclude<WrittenKey<Properties>, Required>]?: FromJsonSchema<Properties[Name]>
      }
    >

/** The keys that are certain to exist. */
type WrittenKey<Properties> = keyof { [Name in keyof Properties as IsPattern<Name> extends true ? never : Name]: 1 } &
  keyof Properties

/** Names of required fields; none if the list is not known completely. */
type RequiredOf<Schema> = Schema extends { readonly required: infer Names } ? NamesIn<Names> : never

type NamesIn<List> = [List] extends [readonly [infer First, ...infer Rest]] ? OneName<First> | NamesIn<Rest> : never

/** The name itself, if it is a single known one. */
type OneName<Name> =
  IsUnion<Name> extends true ? never : Name extends string ? (IsPattern<Name> extends true ? never : Name) : never

type IsUnion<Type, Each = Type> = Each extends unknown ? ([Type] extends [Each] ? false : true) : never

/** `string` and template types: such a key may be absent, so an object without keys is assignable. */
type IsPattern<Name extends PropertyKey> = NoKeys extends { readonly [key in Name]: unknown } ? true : false
// oxlint-disable-next-line no-generated-empty-object-type -- the empty object is intended
type NoKeys = Record<never, never>

/** The same type, shown as one object. */
type Simplify<Type> = { readonly [Name in keyof Type]: Type[Name] } & {}
