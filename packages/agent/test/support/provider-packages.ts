import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Source of a provider that answers with its options and environment variables, as JSON. */
export const tinyProvider = `
const usage = { inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 5, text: 5, reasoning: 0 } }
export function createTiny(options = {}) {
  return {
    languageModel: (modelId) => ({
      specificationVersion: 'v3',
      provider: 'tiny.chat',
      modelId,
      supportedUrls: {},
      async doStream(request) {
        const said = JSON.stringify({ modelId, options, region: process.env.TINY_REGION ?? null, more: request.providerOptions ?? null })
        const parts = [
          { type: 'stream-start', warnings: [] },
          { type: 'text-start', id: '1' },
          { type: 'text-delta', id: '1', delta: said },
          { type: 'text-end', id: '1' },
          { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
        ]
        return { stream: new ReadableStream({ start(controller) { for (const part of parts) controller.enqueue(part); controller.close() } }) }
      },
    }),
  }
}
`

export interface PackageText {
  readonly source: string
  /** Fields that replace the default package.json fields. */
  readonly manifest?: Readonly<Record<string, unknown>>
  /** Its file (default: `index.js`). */
  readonly file?: string
}

/** Writes a package as npm would install it in a folder, and returns its own folder. */
export function installPackage(
  folder: string,
  name: string,
  { source, manifest, file = 'index.js' }: PackageText,
): string {
  const at = join(folder, 'node_modules', ...name.split('/'))
  mkdirSync(at, { recursive: true })
  const usual = { name, version: '1.2.3', type: 'module', exports: { '.': { import: `./${file}` } } }
  writeFileSync(join(at, 'package.json'), JSON.stringify({ ...usual, ...manifest }))
  writeFileSync(join(at, file), source)
  return at
}
