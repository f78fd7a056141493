// Tests that public-names.md lists what the entries of @halting/core export. Adding, renaming or removing a public name
// changes that list, and the changelog.
import { readFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'
import { expect, test } from 'vitest'
import { entriesOf } from '../../../scripts/packages.mjs'

const sources = new URL('../src/', import.meta.url)

const list = readFileSync(new URL('../public-names.md', import.meta.url), 'utf8')

/** The names that the list has for an entry, types marked as such, in alphabetical order. */
function listed(specifier: string): readonly string[] {
  const section = list.split('\n## ').find((each) => each.startsWith(`${specifier}\n`)) ?? ''
  const names = [...section.matchAll(/^- (type )?`(\w+)`: \S/gm)].map(([, type = '', name = '']) => `${type}${name}`)
  return names.toSorted()
}

/** The names that a file exports, types marked as such, in alphabetical order. */
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

for (const { specifier, path } of entriesOf('core')) {
  const entry = new URL(`${path}.ts`, sources)

  test(`${specifier} exports the names of its list and no others`, () => {
    expect(exportsOf(entry)).toEqual(listed(specifier))
  })

  test(`${specifier} has at run time what it exports as a value, and nothing else`, async () => {
    // Any module: only its keys are read.
    const module = (await import(specifier)) as object
    expect(Object.keys(module).toSorted()).toEqual(listed(specifier).filter((name) => !name.startsWith('type ')))
  })
}
