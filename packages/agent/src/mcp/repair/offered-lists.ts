import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import type { Repair, Report } from './reports.ts'
import { booleanIn, withoutUndefinedFields, isDeeperThan, listIn, nameFor, textIn, withValidMeta } from './values.ts'

/** Reads one item of a list; undefined, with a report, if the item cannot be used. */
type ItemReader = (item: JsonObject, report: Report) => JsonObject | undefined

/** Deeper schemas are not shown; the client would recurse through them. */
const deepestSchema = 100

/** Repairs tools: retains only the fields that this program uses, so that other fields cannot be invalid. */
export const repairTools: Repair = listRepair('tools', 'tool', (tool, report) => {
  const { name, title, description, inputSchema, annotations } = tool
  if (typeof name !== 'string' || name === '') return leftOut('tool', tool, 'it has no name', report)
  const { schema, problem } = objectSchema(inputSchema)
  if (problem !== undefined) report(`its tool ${nameFor(name)} is shown without fields: ${problem}`)
  return withoutUndefinedFields({
    name,
    title: textIn(title),
    description: textIn(description),
    inputSchema: schema,
    annotations: isJsonObject(annotations) ? hintsOf(annotations) : undefined,
  })
})

export const repairPrompts: Repair = listRepair('prompts', 'prompt', (prompt, report) => {
  const { name, title, description, arguments: rawArguments } = prompt
  if (typeof name !== 'string' || name === '') return leftOut('prompt', prompt, 'it has no name', report)
  const parameters = listIn(rawArguments)
  if (parameters === undefined) return leftOut('prompt', prompt, 'its arguments are not a list', report)
  const read = parameters.map((argument) => {
    const fields = isJsonObject(argument) ? argument : { name: argument }
    const { name: field, description: about, required } = fields
    if (typeof field !== 'string') return undefined
    return withoutUndefinedFields({ name: field, description: textIn(about), required: booleanIn(required) })
  })
  // Arguments are positional: if one were omitted, the others would receive wrong words.
  if (!read.every((argument) => argument !== undefined))
    return leftOut('prompt', prompt, 'one of its arguments has no name', report)
  return withoutUndefinedFields({ name, title: textIn(title), description: textIn(description), arguments: read })
})

export const repairResources: Repair = placeRepair('resources', 'resource', 'uri')

export const repairTemplates: Repair = placeRepair('resourceTemplates', 'resource template', 'uriTemplate')

function placeRepair(field: string, what: string, place: 'uri' | 'uriTemplate'): Repair {
  return listRepair(field, what, (item, report) => {
    const { [place]: uri, name, title, description, mimeType } = item
    if (typeof uri !== 'string') return leftOut(what, item, `it has no ${place}`, report)
    return withoutUndefinedFields({
      [place]: uri,
      name: textIn(name) ?? uri,
      title: textIn(title),
      description: textIn(description),
      mimeType: textIn(mimeType),
    })
  })
}

/** The server's answer to the handshake. The client checks the protocol version itself. */
export const repairHandshake: Repair = (result) => {
  const { serverInfo, capabilities, instructions, ...rest } = withValidMeta(result)
  const isNew = serverInfo === undefined && rest['protocolVersion'] === undefined
  const { name, version, ...more } = isJsonObject(serverInfo) ? serverInfo : {}
  return withoutUndefinedFields({
    ...rest,
    // Revision 2026-07-28 has the field in `_meta`.
    serverInfo: isNew
      ? undefined
      : {
          ...validInfo(more),
          name: textIn(name) ?? '',
          version: typeof version === 'number' ? String(version) : (textIn(version) ?? ''),
        },
    capabilities: capabilitiesOf(capabilities),
    instructions: textIn(instructions),
  })
}

function validInfo({ title, description, websiteUrl }: JsonObject): JsonObject {
  return withoutUndefinedFields({
    title: textIn(title),
    description: textIn(description),
    websiteUrl: textIn(websiteUrl),
  })
}

/** The capabilities that this program uses. `tools: true` is read as `tools: {}`. */
function capabilitiesOf(capabilities: Json | undefined): JsonObject {
  const declared = isJsonObject(capabilities) ? capabilities : {}
  const used = ['tools', 'prompts', 'resources'].map((name) => {
    const value = declared[name]
    if (!isJsonObject(value)) return [name, value === true || Array.isArray(value) ? {} : undefined] as const
    return [
      name,
      withoutUndefinedFields({
        listChanged: booleanIn(value['listChanged']),
        subscribe: booleanIn(value['subscribe']),
      }),
    ] as const
  })
  return withoutUndefinedFields(Object.fromEntries(used))
}

function listRepair(field: string, what: string, read: ItemReader): Repair {
  return (result, report) => {
    const items = listIn(result[field])
    // The result is not an answer to this request.
    if (items === undefined || result[field] === undefined) return result
    const { nextCursor, ttlMs, cacheScope, ...rest } = withValidMeta(result)
    return withoutUndefinedFields({
      ...rest,
      [field]: items.flatMap((item) => (isJsonObject(item) ? (read(item, report) ?? []) : notAnObject(what, report))),
      // An empty cursor would request the first page again.
      nextCursor: typeof nextCursor === 'number' ? String(nextCursor) : textIn(nextCursor) || undefined,
      ...(rest['resultType'] !== undefined && {
        ttlMs: Number.isInteger(ttlMs) && Number(ttlMs) >= 0 ? ttlMs : 0,
        cacheScope: cacheScope === 'public' ? cacheScope : 'private',
      }),
    })
  }
}

function notAnObject(what: string, report: Report): readonly JsonObject[] {
  report(`a ${what} of it is left out: it is not an object`)
  return []
}

function leftOut(what: string, { name, title }: JsonObject, why: string, report: Report): undefined {
  const known = nameFor(name) || nameFor(title)
  report(`${known === '' ? `a ${what} of it` : `its ${what} ${known}`} is left out: ${why}`)
}

function hintsOf({ title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint }: JsonObject): JsonObject {
  return withoutUndefinedFields({
    title: textIn(title),
    readOnlyHint: booleanIn(readOnlyHint),
    destructiveHint: booleanIn(destructiveHint),
    idempotentHint: booleanIn(idempotentHint),
    openWorldHint: booleanIn(openWorldHint),
  })
}

interface ReadSchema {
  readonly schema: JsonObject
  /** Why the given schema is not used. */
  readonly problem?: string
}

const anyObject: ReadSchema = { schema: { type: 'object' } }

/** An object schema whose top level the client accepts. Its parts are checked before they are shown to a model. */
function objectSchema(rawSchema: Json | undefined): ReadSchema {
  // PHP has a single empty value for lists and objects.
  if (rawSchema === undefined || rawSchema === null || rawSchema === true || isEmptyList(rawSchema)) return anyObject
  if (!isJsonObject(rawSchema)) return { ...anyObject, problem: 'its input schema is not an object' }
  const { type, properties, required, $schema, ...rest } = rawSchema
  const kinds = Array.isArray(type) ? type : [type ?? 'object']
  if (!kinds.includes('object')) return { ...anyObject, problem: 'its input schema does not describe an object' }
  const isAbsent = properties === undefined || properties === null || isEmptyList(properties)
  if (!isAbsent && !isJsonObject(properties))
    return { ...anyObject, problem: 'the properties of its input schema are not an object' }
  if (isDeeperThan(deepestSchema, rawSchema)) return { ...anyObject, problem: 'its input schema is nested too deeply' }
  const names = Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
  const schema = withoutUndefinedFields({
    $schema: textIn($schema),
    ...rest,
    type: 'object',
    properties: isAbsent ? undefined : properties,
    required: names.length > 0 ? names : undefined,
  })
  return { schema }
}

function isEmptyList(value: Json): boolean {
  return Array.isArray(value) && value.length === 0
}
