// Holds rules of docs/spec: R-HAND-11 to R-HAND-12: what a result says for the next call, and calls under other names.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createCodingTools, Workspace } from '@halting/agent'
import { QueryEngine } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { createPermissions } from '@halting/policy'
import { noFiles, patternIsFolder, tryPattern } from '../src/tools/search-texts.ts'
import { codingTools, temporaryFolder, toolNamed } from './support/harness.ts'

function withFiles(files: Readonly<Record<string, string>>) {
  const harness = codingTools()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(harness.cwd, name, '..'), { recursive: true })
    writeFileSync(join(harness.cwd, name), content)
  }
  return harness
}

describe('a result says what the next call needs', () => {
  test('the most similar lines of a failed edit can be copied into the next edit without another Read', async () => {
    const lines = Array.from({ length: 30 }, (_, index) => `\tconst value${index} = compute(${index})`)
    const { use } = withFiles({ 'a.ts': `${lines.join('\n')}\n` })
    await use('Read', { file_path: 'a.ts' })
    const old_string = lines.join('\n').replaceAll('\t', '  ')
    const failed = await use('Edit', { file_path: 'a.ts', old_string, new_string: 'x' })
    const shown = [...failed.text.matchAll(/^ *\d+\t(.*)$/gm)].map(([, line]) => line)
    expect(shown).toEqual(lines)
    const next = { file_path: 'a.ts', old_string: shown.join('\n'), new_string: 'x' }
    expect(await use('Edit', next)).toMatchObject({ isError: false })
  })

  test('each match of an ambiguous edit is shown with surrounding lines', async () => {
    const { use } = withFiles({ 'a.ts': 'first()\nclose()\n\nsecond()\nclose()\n' })
    await use('Read', { file_path: 'a.ts' })
    const { text } = await use('Edit', { file_path: 'a.ts', old_string: 'close()', new_string: 'x' })
    expect(text).toContain('     1\tfirst()\n     2\tclose()')
    expect(text).toContain('     4\tsecond()\n     5\tclose()')
  })

  test('a failed command shows its exit code and the end of a long output first', async () => {
    const { use } = codingTools({ bashOutputCharacters: 1_000 })
    const { text, details } = await use('Bash', { command: 'echo begin; seq 1 2000; echo the reason; exit 2' })
    expect(text).toMatch(/^Exit code 2\nThe end of the output:\n[^]*the reason\n\n\[\.\.\. \d+ characters left out/)
    expect(text.indexOf('the reason')).toBeLessThan(text.indexOf('begin'))
    expect(String(details['stdout'])).toMatch(/^begin\n[^]*the reason$/)
    // The order of a successful one stays.
    const fine = await use('Bash', { command: 'echo begin; seq 1 2000; echo done' })
    expect(fine.text).toMatch(/^begin\n[^]*done$/)
  })

  test('a missing file names similar names, or the nearest folder and how to search', async () => {
    const { use, cwd } = withFiles({ 'src/settings.ts': '', 'src/main.ts': '' })
    expect((await use('Read', { file_path: 'src/setings.ts' })).text).toContain(
      'Similar names in that directory: settings.ts.',
    )
    expect((await use('Read', { file_path: 'src/main.js' })).text).toContain('main.ts')
    const { text } = await use('Read', { file_path: 'scr/main.ts' })
    expect(text).toContain(`the nearest existing one is ${cwd}.`)
    expect(text).toContain('Glob with {"pattern": "**/main.ts"}')
    expect((await use('Grep', { pattern: 'x', path: 'src/man.ts' })).text).toContain('main.ts')
    expect((await use('Edit', { file_path: 'src/man.ts', old_string: 'a', new_string: 'b' })).text).toContain('main.ts')
  })

  test('does not suggest names that a rule hides', async () => {
    const hides = (path: string): boolean => path.endsWith('secret.env')
    const { use, cwd } = codingTools({}, { hides })
    writeFileSync(join(cwd, 'secret.env'), 'x')
    expect((await use('Read', { file_path: 'secret.en' })).text).not.toContain('secret.env')
  })

  test('a search without a result says what was searched and what to try', async () => {
    const { use, cwd } = withFiles({ 'lib/deep/a.ts': 'Needle\n' })
    expect((await use('Glob', { pattern: 'src/a.ts' })).text).toContain(tryPattern('**/a.ts', undefined))
    expect((await use('Glob', { pattern: 'lib' })).text).toBe(
      noFiles('lib', cwd, patternIsFolder('lib', join(cwd, 'lib'))),
    )
    const { text } = await use('Grep', { pattern: String.raw`needle\|other`, path: 'lib', type: 'ts' })
    expect(text).toContain(`in ${cwd}/lib (only type ts).`)
    expect(text).toContain('alternatives are separated by "|"')
    expect((await use('Grep', { pattern: 'Needle', offset: 5 })).text).toContain('offset 5 skips all of them')
    expect((await use('Grep', { pattern: 'x', type: 'tsx' })).text).toContain('"glob": "*.tsx"')
  })

  test('a truncated search continues with offset', async () => {
    const { use } = withFiles({ a: 'one\n'.repeat(10) })
    const search = { pattern: 'one', output_mode: 'content', head_limit: 4 }
    const { text } = await use('Grep', search)
    expect(text).toContain('"offset": 4')
    expect((await use('Grep', { ...search, offset: 8 })).text).toBe('a:9:one\na:10:one')
  })
})

describe('a call with alternative field names is accepted', () => {
  test.each([
    [
      'Grep',
      { pattern: 'two', file_path: 'a.txt', output_mode: 'content', context: 1 },
      'a.txt-1-one\na.txt:2:two\na.txt-3-three',
    ],
    ['Grep', { pattern: 'two', path: 'a.txt', output_mode: 'content', '-n': 'true', head_limit: '5' }, 'a.txt:2:two'],
    ['Grep', { pattern: 'two', path: '', glob: '' }, 'a.txt'],
    ['Read', { path: 'a.txt', offset: '3' }, '     3\tthree'],
    ['Read', { filePath: 'a.txt', offset: 3, pages: '' }, '     3\tthree'],
    ['Glob', { pattern: './../FOLDER/*.txt' }, 'a.txt'],
    ['Bash', { cmd: 'echo out' }, 'out'],
  ])('%s %j', async (tool, input, text) => {
    const { use, cwd } = withFiles({ 'a.txt': 'one\ntwo\nthree\n' })
    const call = JSON.parse(JSON.stringify(input).replace('FOLDER', cwd.slice(cwd.lastIndexOf('/') + 1))) as object
    expect(await use(tool, call)).toMatchObject({ text, isError: false })
  })

  test('a field and its alias together are refused', async () => {
    const { text, isError } = await codingTools().use('Grep', { pattern: 'a', '-C': 1, context: 2 })
    expect([isError, text]).toEqual([true, expect.stringContaining('there is no field context') as string])
  })

  test('canonical inputs are unchanged, and canonicalization is idempotent', () => {
    const { tools } = codingTools()
    for (const [name, input] of [
      ['Glob', { pattern: '/etc/*.conf' }],
      ['Glob', { pattern: '/etc/hosts' }],
      ['Glob', { pattern: '~/notes/**/a.md', path: '' }],
      ['Glob', { pattern: '../x/*.ts', path: 'sub' }],
      ['Grep', { file_path: 'a', pattern: 'b' }],
      ['Edit', { path: 'a', old_str: 'b', new_str: 'c' }],
    ] as const) {
      const tool = toolNamed(tools, name)
      const once = tool.canonicalInput?.(input) ?? input
      expect([name, once]).not.toEqual([name, input])
      expect(tool.canonicalInput?.(once)).toBe(once)
    }
    expect(toolNamed(tools, 'Glob').canonicalInput?.({ pattern: '/etc/*.conf' })).toEqual({
      pattern: './*.conf',
      path: '/etc',
    })
    expect(toolNamed(tools, 'Glob').canonicalInput?.({ pattern: '../x/*.ts', path: 'sub' })).toEqual({
      pattern: './*.ts',
      path: 'x',
    })
  })

  // Rules and hooks judge the field that the tool reads.
  test.each([
    ['Read', { path: 'secret/key' }],
    ['Read', { filePath: 'secret/key' }],
    ['Read', { filename: 'secret/key' }],
    ['Grep', { pattern: 'hunter2', file_path: 'secret/key', output_mode: 'content' }],
    ['Grep', { pattern: 'hunter2', directory: 'secret', output_mode: 'content' }],
    ['Glob', { pattern: '{cwd}/secret/*' }],
    ['Glob', { pattern: './../FOLDER/secret/*' }],
    ['Edit', { path: 'secret/key', old_str: 'hunter2', new_str: 'x' }],
    ['Write', { path: 'secret/key', file_text: 'x' }],
    ['Bash', { cmd: 'cat secret/key' }],
    ['Glob', '{"pattern":"{cwd}/secret/*"}'],
    ['Read', '{"path":"secret/key"}'],
  ])('a deny rule applies to %s %j', async (name, input) => {
    const cwd = temporaryFolder()
    mkdirSync(join(cwd, 'secret'))
    writeFileSync(join(cwd, 'secret/key'), 'hunter2')
    const permissions = createPermissions({
      cwd,
      mode: 'bypassPermissions',
      deny: ['Read(secret/**)', 'Edit(secret/**)', 'Bash(cat *)'],
    })
    const workspace = new Workspace({ cwd, hides: (path, rights) => permissions.deniesReading(path, rights) })
    const text = JSON.stringify(input)
      .replace('{cwd}', cwd)
      .replace('FOLDER', cwd.slice(cwd.lastIndexOf('/') + 1))
    // A model may send the whole input as a text.
    const call = { name, input: JSON.parse(text.replaceAll('\\"{cwd}', `\\"${cwd}`)) as Record<string, string> }
    const engine = new QueryEngine({
      model: scriptedModel([{ toolCalls: [call] }, 'Done.']),
      tools: createCodingTools(workspace),
      permissions,
    })
    const results: string[] = []
    for await (const message of engine.submit('go'))
      if (message.type === 'user' && Array.isArray(message.message.content))
        for (const block of message.message.content)
          if (block.type === 'tool_result') results.push(JSON.stringify(block))
    await workspace.dispose()
    expect(results).toHaveLength(1)
    expect(results[0]).toContain('"is_error":true')
    expect(results[0]).not.toContain('hunter2')
    expect(results[0]).not.toContain('secret/key\\n')
    expect(results[0]).toMatch(/denied|deny/i)
  })
})
