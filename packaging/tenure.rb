class Tenure < Formula
  desc "Shows and controls who owns every field of Kubernetes objects"
  homepage "https://github.com/tenure-dev/tenure"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "https://github.com/tenure-dev/tenure/releases/download/v@VERSION@/tenure-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256:aarch64-apple-darwin@"
    end
    on_intel do
      url "https://github.com/tenure-dev/tenure/releases/download/v@VERSION@/tenure-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256:x86_64-apple-darwin@"
    end
  end
  on_linux do
    on_arm do
      url "https://github.com/tenure-dev/tenure/releases/download/v@VERSION@/tenure-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "https://github.com/tenure-dev/tenure/releases/download/v@VERSION@/tenure-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "tenure"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/tenure.bash" => "tenure"
    zsh_completion.install "completions/tenure.zsh" => "_tenure"
    fish_completion.install "completions/tenure.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tenure --version")
  end
end
