export function withoutBareImports(
  outputFiles: readonly { readonly path: string; readonly text: string }[],
): readonly { readonly path: string; readonly contents: string }[]
