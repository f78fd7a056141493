import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * Makes esbuild bundle OpenTelemetry's packages as ES modules, so that unused code is dropped. For Node, they name CommonJS first, of which nothing can be dropped.
 * @returns {import('esbuild').Plugin}
 */
export function openTelemetryModules() {
  return {
    name: 'open-telemetry-modules',
    setup(build) {
      // Nothing uses the detection of the machine.
      build.onResolve({ filter: /\/getMachineId-\w+(?:\.js)?$/ }, () => ({
        path: 'no-machine',
        namespace: 'no-machine',
      }))
      build.onLoad({ filter: /.*/, namespace: 'no-machine' }, () => ({
        contents: 'export const getMachineId = async () => undefined',
      }))
      build.onResolve({ filter: /^@opentelemetry\/[\w-]+$/ }, ({ path, resolveDir }) => {
        const file = manifestOf(path, resolveDir)
        if (file === undefined) return undefined
        const manifest = JSON.parse(readFileSync(file, 'utf8'))
        // A package with `exports` names its modules for bundlers there.
        if (manifest.exports !== undefined || manifest.module === undefined) return undefined
        return { path: join(dirname(file), manifest.module), sideEffects: manifest.sideEffects !== false }
      })
    },
  }
}

function manifestOf(name, resolveDir) {
  try {
    return createRequire(join(resolveDir, 'x.js')).resolve(`${name}/package.json`)
  } catch {
    return undefined
  }
}
