package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/countersign-dev/countersign/gate/internal/config"
	"github.com/countersign-dev/countersign/gate/internal/server"
)

const defaultMCPFile = "/etc/countersign-gate/mcp.yaml"

func mcpCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "mcp [server]", Short: "Serve MCP servers over Streamable HTTP, or the one that is named over stdio", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return serveMCP(cmd.Context(), file, args) },
	}
	cmd.PersistentFlags().StringVar(&file, "config", defaultMCPFile, "the configuration")
	cmd.AddCommand(acceptCommand(&file), checkMCPCommand(&file), &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.MCPSchema)
			return err
		},
	})
	return cmd
}

func serveMCP(ctx context.Context, file string, args []string) error {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	m, err := server.NewMCP(ctx, file, version, log)
	if err != nil {
		return err
	}
	defer m.Stop(ctx)
	if len(args) == 1 {
		return m.Stdio(ctx, args[0], os.Stdin, os.Stdout)
	}
	if err := m.Listen(ctx); err != nil {
		return err
	}
	log.Info("serving", "version", version)
	select {
	case <-ctx.Done():
		return nil
	case err := <-m.Failed():
		return err
	}
}

func acceptCommand(file *string) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "accept [server]", Short: "Print how tools differ from the accepted ones, and accept them in the lock file", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := server.NewMCP(cmd.Context(), *file, version, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
			if err != nil {
				return err
			}
			defer m.Stop(cmd.Context())
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			return m.Accept(cmd.Context(), name, dry, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "accept nothing, and fail if tools differ")
	return cmd
}

func checkMCPCommand(file *string) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Report every fault of the configuration with its line", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.LoadMCP(*file)
			if err != nil {
				return err
			}
			cmd.Printf("%s: %d servers\n", *file, len(c.Servers))
			return nil
		},
	}
}
