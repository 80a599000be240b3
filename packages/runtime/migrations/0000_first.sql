CREATE SCHEMA IF NOT EXISTS "svc";
--> statement-breakpoint
CREATE TABLE "svc"."installation" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "svc"."secrets" (
	"owner" text DEFAULT 'system' NOT NULL,
	"name" text NOT NULL,
	"version" integer NOT NULL,
	"sealed" jsonb NOT NULL,
	"set_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "secrets_owner_name_pk" PRIMARY KEY("owner","name")
);
--> statement-breakpoint
CREATE TABLE "svc"."settings" (
	"key" text PRIMARY KEY NOT NULL,
	"value" jsonb NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "installation_single_row" ON "svc"."installation" USING btree ((true));