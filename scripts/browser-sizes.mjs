// How much of the libraries a page loads: the built files, bundled for browsers, minified and compressed with gzip.
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { root } from './packages.mjs'

const programs = {
  'streamRun and tool': "export { streamRun, startRun, tool } from '@halting/core'",
  'all of @halting/core': "export * from '@halting/core'",
  'anthropic beside streamRun and tool':
    "export { streamRun, startRun, tool } from '@halting/core'\nexport { anthropic } from '@halting/models'",
}

/** The maximum of kilobytes that a page loads, by what it imports. Raise a limit in the commit that needs it, and give the reason in the commit message. */
export const browserKilobytes = {
  'streamRun and tool': 132,
  'all of @halting/core': 160,
  'anthropic beside streamRun and tool': 165,
}

/**
 * Bytes by what a page imports. An import of a Node module is an error.
 * @returns {Promise<{ readonly [program: string]: number }>}
 */
export async function browserSizes() {
  const sizes = Object.entries(programs).map(async ([name, contents]) => {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: fileURLToPath(root) },
      bundle: true,
      minify: true,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      write: false,
      logLevel: 'error',
    })
    return [name, gzipSync(outputFiles[0].contents, { level: 9 }).length]
  })
  return Object.fromEntries(await Promise.all(sizes))
}
