import { basename } from 'node:path'

/** A name of something that tools make again whenever it is missing, so that it does not count as a change. */
interface ThrowawayName {
  /** Fits a name, or the end of a path. */
  readonly fits: RegExp
  /** What makes it. */
  readonly of: string
}

/** In the workspace. */
const inWorkspace: readonly ThrowawayName[] = [
  { fits: /(?:^|\/)__pycache__$/, of: 'bytecode that Python compiles from sources' },
  { fits: /(?:^|\/)\.pytest_cache$/, of: 'which tests failed last time' },
  { fits: /(?:^|\/)\.mypy_cache$/, of: 'types that mypy inferred' },
  { fits: /(?:^|\/)\.ruff_cache$/, of: 'results of ruff by file' },
  { fits: /(?:^|\/)node_modules\/(?:\.cache|\.vite|\.vitest)$/, of: 'caches of loaders, vite and vitest' },
  { fits: /(?:^|\/)\.(?:eslint|stylelint|prettier)cache$/, of: 'results of linters by file' },
  { fits: /(?:^|\/)\.phpunit\.result\.cache$/, of: 'the order of tests of PHPUnit' },
  { fits: /\.tsbuildinfo$/, of: 'what tsc compiled last time' },
]

/** In `/tmp`, where tools leave folders behind that they find again, and that nobody misses. */
const inTemporary: readonly ThrowawayName[] = [
  { fits: /^pytest-of-[^/]+$/, of: 'folders of the last tests of pytest' },
  { fits: /^(?:node-compile-cache|v8-compile-cache-\d+)$/, of: 'compiled scripts of Node' },
  {
    fits: /^(?:jest_\w+|tsx-\d+|ts-node-[^/]+|esbuild-\w+|vite-node-\w+)$/,
    of: 'compiled sources of JavaScript tools',
  },
  { fits: /^hsperfdata_[^/]+$/, of: 'counters of Java' },
  { fits: /^(?:go-build|gopath)[^/]*$/, of: 'what go compiled' },
]

/** Whether what stands at a path, relative to a directory of the session, is made again whenever it is missing. */
export function isThrowaway(path: string): boolean {
  return inWorkspace.some(({ fits }) => fits.test(path))
}

/** The same for a name of `/tmp`. */
export function isThrowawayTemporary(path: string): boolean {
  return inTemporary.some(({ fits }) => fits.test(basename(path)))
}
