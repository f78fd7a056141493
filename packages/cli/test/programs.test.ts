// The programs of examples/programs do what they say, on the sources; documents quote them as they are.
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { sources } from '../../../vitest.build.ts'

const root = new URL('../../../', import.meta.url)
const textOf = (path: string): string => readFileSync(new URL(path, root), 'utf8')
const documents = readdirSync(new URL('docs/guide/', root)).map((name) => `docs/guide/${name}`)

describe('a TypeScript block that names an example', () => {
  const quotes = documents.flatMap((document) =>
    [...textOf(document).matchAll(/^```ts\n(\/\/ (examples\/\S+)\n[\s\S]*?)^```$/gm)].map(
      ([, code = '', example = '']) => ({ document, example, code }),
    ),
  )

  test('is that file', () => {
    expect(quotes.length).toBeGreaterThan(0)
    expect(quotes.filter(({ example, code }) => textOf(example) !== code).map(({ document, example }) => [document, example])).toEqual([]) // prettier-ignore
  })
})

describe('a test of an agent', () => {
  /** Runs it as `node --test` does, on the sources. */
  async function testRun(change: (code: string) => string = (code) => code): Promise<string> {
    const folder = mkdtempSync(join(tmpdir(), 'halting-programs-'))
    try {
      const file = join(folder, 'weather-agent.test.mjs')
      await build({
        stdin: {
          contents: change(textOf('examples/programs/weather-agent.test.ts')),
          resolveDir: fileURLToPath(new URL('examples/programs', root)),
          loader: 'ts',
        },
        outfile: file,
        bundle: true,
        platform: 'node',
        format: 'esm',
        alias: sources,
        logLevel: 'error',
      })
      const run = promisify(execFile)(process.execPath, ['--test', '--test-reporter=tap', file], { timeout: 60_000 })
      const { stdout } = await run.catch((error: { readonly stdout: string }) => error)
      return stdout
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }

  test('passes with node:test', async () => {
    expect(await testRun()).toMatch(/# pass 2\n# fail 0/)
  })

  test('fails there where the agent does something else, with the difference and how the run ended', async () => {
    const said = await testRun((code) =>
      code.replace("{ city: 'Bonn' })\n  expectRun", "{ city: 'Rome' })\n  expectRun"),
    )
    expect(said).toMatch(/# pass 1\n# fail 1/)
    expect(said).toContain(`Expected the run to call Weather with {"city":"Rome"}, but it called Weather.`)
    expect(said).toContain(`Answer: "Take an umbrella."`)
    expect(said).toContain(`code: 'ERR_ASSERTION'`)
  })
})
