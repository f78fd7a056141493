/** Folders below `packages`, lowest first. */
export declare const packages: readonly string[]
/** Those that users get. */
export declare const publishedPackages: readonly string[]
export declare function entriesOf(name: string): readonly { readonly specifier: string; readonly path: string }[]
/** Source files of one package, as paths from the root of the repository. */
export declare function sourceFiles(name: string): readonly string[]
