import { describe, expect, test } from 'vitest'
import { schemaProblems } from '../../src/tools/schema.ts'

const path = {
  type: 'object',
  properties: { path: { type: 'string', minLength: 1 } },
  required: ['path'],
  additionalProperties: false,
}

describe('the schema checker says what is right', () => {
  test.each([
    [path, { path: 'a' }, []],
    [path, {}, ['path is missing']],
    [path, { path: undefined }, ['path is missing']],
    [path, { path: 3 }, ['path must be string, not number']],
    [path, { path: '' }, ['path must have at least 1 characters']],
    [path, { path: 'a', extra: 1 }, ['extra is not known; there are path']],
    [path, [], ['the input must be object, not array']],
    [path, null, ['the input must be object, not null']],
    [path, undefined, ['the input must be object, not undefined']],
    [{ type: 'object', additionalProperties: false }, { a: 1 }, ['a is not known; there are no fields']],
    [{}, 'anything', []],
    [{ type: ['string', 'null'] }, null, []],
    [{ type: ['string', 'null'] }, 1, ['the input must be string or null, not number']],
    [{ type: 'integer' }, 1.5, ['the input must be integer, not number']],
    [{ type: 'integer', minimum: 1, maximum: 3 }, 0, ['the input must be at least 1']],
    [{ type: 'integer', minimum: 1, maximum: 3 }, 4, ['the input must be at most 3']],
    [{ enum: ['a', 'b'] }, 'c', ['the input must be one of "a", "b"']],
    [{ const: 'x' }, 'y', ['the input must be "x"']],
    [{ type: 'array', items: { type: 'number' }, minItems: 1 }, [], ['the input must have at least 1 items']],
    [
      { type: 'array', items: { type: 'number' } },
      [1, 'x', 2, null],
      ['[1] must be number, not string', '[3] must be number, not null'],
    ],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, true, ['the input fits none of the forms it may have']],
    [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, 1, []],
    [
      { type: 'object', properties: { list: { type: 'array', items: path } } },
      { list: [{ path: 'a' }, {}] },
      ['list[1].path is missing'],
    ],
    [
      { type: 'object', properties: { a: { type: 'object', properties: { b: { type: 'boolean' } } } } },
      { a: { b: 'no' } },
      ['a.b must be boolean, not string'],
    ],
    [{ type: 'object', required: ['a', 'b'] }, {}, ['a is missing', 'b is missing']],
    [{ type: 'object', required: ['toString'] }, {}, ['toString is missing']],
  ] as const)('%j given %j', (schema, value, problems) => {
    expect(schemaProblems(schema, value)).toEqual(problems)
  })
})
