// What the entries of @halting/core export is frozen here: whoever adds, renames or removes a public name changes this list, and the changelog.
import { readFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'
import { expect, test } from 'vitest'
import { frozen } from './support/frozen-names.ts'

const sources = new URL('../src/', import.meta.url)

/** The names that a file exports, types marked as such, in the order of the alphabet. */
function exportsOf(file: URL): readonly string[] {
  const { program, errors } = parseSync(file.pathname, readFileSync(file, 'utf8'))
  expect(errors).toEqual([])
  const names = program.body.flatMap((node): readonly string[] => {
    if (node.type === 'ExportAllDeclaration') return exportsOf(new URL(node.source.value, file))
    if (node.type !== 'ExportNamedDeclaration') return []
    const { declaration, specifiers, exportKind } = node
    const named = specifiers.map(({ exported, exportKind: own }) => {
      const name = exported.type === 'Literal' ? exported.value : exported.name
      return exportKind === 'type' || own === 'type' ? `type ${name}` : name
    })
    if (declaration === null) return named
    if (declaration.type === 'VariableDeclaration') {
      return declaration.declarations.map(({ id }) => (id.type === 'Identifier' ? id.name : ''))
    }
    const name = 'id' in declaration && declaration.id !== null && 'name' in declaration.id ? declaration.id.name : ''
    return [exportKind === 'type' || declaration.type.startsWith('TS') ? `type ${name}` : name]
  })
  return [...new Set(names)].toSorted()
}

const entries = {
  main: 'index.ts',
  steps: 'steps/index.ts',
  adapters: 'adapters/index.ts',
  after: 'after/index.ts',
  redact: 'redact/index.ts',
  session: 'live-session/index.ts',
  testing: 'testing/index.ts',
}

for (const entry of ['main', 'steps', 'adapters', 'after', 'redact', 'session', 'testing'] as const) {
  test(`${entry} exports these names and no others`, () => {
    expect(exportsOf(new URL(entries[entry], sources))).toEqual(frozen[entry])
  })
}

test('what is exported as a value is there when the program runs, and nothing else', async () => {
  const modules = {
    main: await import('../src/index.ts'),
    steps: await import('../src/steps/index.ts'),
    adapters: await import('../src/adapters/index.ts'),
    after: await import('../src/after/index.ts'),
    redact: await import('../src/redact/index.ts'),
    session: await import('../src/live-session/index.ts'),
    testing: await import('../src/testing/index.ts'),
  }
  for (const entry of ['main', 'steps', 'adapters', 'after', 'redact', 'session', 'testing'] as const) {
    const values = frozen[entry].filter((name) => !name.startsWith('type '))
    expect(Object.keys(modules[entry]).toSorted()).toEqual(values)
  }
})
