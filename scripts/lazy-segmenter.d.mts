import type { Plugin } from 'esbuild'

export function lazySegmenter(): Plugin
