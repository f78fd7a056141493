import type { BuildOptions } from 'esbuild'

/** The entries that there are for hosts without Node, below `src` and without an ending. */
export declare const browserEntries: readonly string[]
/** Options of esbuild. An import of a module of Node that is left is an error. */
export declare const forBrowsers: BuildOptions
