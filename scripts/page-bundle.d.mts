export function pageBundle(
  outdir: string,
): Promise<readonly { readonly path: string; readonly contents: Uint8Array; readonly text: string }[]>
